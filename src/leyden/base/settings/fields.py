"""All settings: name, default and a one-sentence description."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import fields

Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[int, Meta(ge=1, le=10**9)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Some = Annotated[int, Meta(ge=1, le=10**9)]
Pace = Annotated[int, Meta(ge=1, le=100_000)]  # a second
# lnd peaks at 353 MB while it unlocks its wallet: with less it could never be unlocked.
Memory = Annotated[int, Meta(ge=400, le=10**6)]
Weight = Annotated[int, Meta(ge=1, le=10_000)]

# The folder in the home that has the private chain of `leyden up`.
PRIVATE_CHAIN: Final = "devnet"
PRIVATE_PEER_PORTS: Final = "21000-21999"  # of its nodes, unless set


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an installation, each described by the text below it."""

    # Where everything is
    home: str = ".leyden"
    """The installation's folder."""
    database_url: str = ""
    """sqlite:///PATH or postgresql://...; empty: HOME/leyden.db."""
    secrets_file: str = ""
    """File of the keys that encrypt stored data; empty: HOME/secrets.json."""
    own_binaries: str = ""
    """Programs to use instead of building them: names or paths, comma-separated."""

    # The API
    api_host: str = "127.0.0.1"
    """IP address that the API listens on."""
    api_port: Port = 8000
    """Port that the API listens on."""
    api_tls_certificate: str = ""
    """PEM file of the API's TLS certificate chain; empty: no TLS."""
    api_tls_key: str = ""
    """PEM file of the private key of api_tls_certificate."""
    api_tls: bool = False
    """Serve the API over TLS with a certificate from the platform's own authority."""
    api_proxies: str = ""
    """Networks of trusted proxies, which forward client addresses; comma-separated."""
    metrics_host: str = "127.0.0.1"
    """IP address that /metrics listens on, without a password: keep others from it."""
    metrics_port: Port = 9464
    """Port of /metrics; 0: none."""

    # Nodes and the way to them
    runtime: Literal["local", "kubernetes", "both"] = "local"
    """Where nodes run: local (this machine), kubernetes (a cluster), or both."""
    kubeconfig: str = ""
    """Kubeconfig file of the cluster; empty: the cluster we run in."""
    kubernetes_namespace: str = ""
    """Namespace for nodes only."""
    kubernetes_storage_class: str = ""
    """StorageClass of nodes' volumes, with reclaimPolicy Retain."""
    kubernetes_priority_class: str = ""
    """PriorityClass of nodes' pods; empty: the cluster's default."""
    kubernetes_node_selector: str = ""
    """Labels of machines that nodes' pods run on: KEY=VALUE, comma-separated."""
    kubernetes_tolerations: str = ""
    """Taints that nodes' pods tolerate: KEY[=VALUE][:EFFECT], comma-separated."""
    kubernetes_images: str = ""
    """VERSION=IMAGE@sha256:DIGEST of each lnd, comma-separated."""
    companion_image: str = ""
    """IMAGE@sha256:DIGEST of nodes' companion; empty: none."""
    companion_url: str = ""
    """https://HOST:PORT where companions reach the API server."""
    companion_host: str = "0.0.0.0"  # noqa: S104  pods are not on this machine
    """IP address that the companions' API listens on."""
    companion_port: Port = 8010
    """Port that the companions' API listens on."""
    nodes_domain: str = "nodes.localhost"
    """Domain of the nodes' names: NODE.nodes_domain."""
    gateway_here: bool = True
    """Run a gateway next to the worker; false: gateways run on other machines."""
    gateway_host: str = "127.0.0.1"
    """IP address that the gateway listens on."""
    gateway_rest_port: Port = 8080
    """Gateway port for all nodes' REST."""
    gateway_grpc_port: Port = 10_009
    """Gateway port for all nodes' gRPC."""
    gateway_balancers: str = ""
    """Networks of load balancers that send a PROXY header, comma-separated."""
    gateway_connections: Some = 10_000
    """Maximum connections to all nodes, including those still in the handshake."""
    gateway_connections_per_source: Some = 200
    """Maximum connections from one IP address to all nodes."""
    gateway_connections_per_node: Some = 1000
    """Maximum connections to one node."""
    gateway_arrivals_per_source: Pace = 50
    """Maximum new connections per second from one IP address; needs nftables."""
    gateway_peer_connections_per_node: Some = 500
    """Maximum peer connections to one node."""
    gateway_peer_connections_per_source: Some = 10
    """Maximum peer connections from one IP address to one node."""
    gateway_peer_arrivals_per_source: Pace = 20
    """Maximum new peer connections per second from one IP address."""
    gateway_peer_arrivals_per_node: Pace = 50
    """Maximum new peer connections per second to one node."""
    gateway_peers_unlimited: str = ""
    """Networks of peers without limits per IP address, comma-separated."""
    gateway_hello_timeout_s: Seconds = 3
    """Maximum time until a new connection names its node."""
    gateway_idle_timeout_s: Seconds = 86_400
    """Time until the gateway closes an idle connection."""
    gateway_workers: Annotated[int, Meta(ge=1, le=256)] = 2
    """Gateway threads."""
    gateway_token: str = ""
    """Secret of gateways on other machines; empty: no such gateways."""
    gateway_routes_port: Port = 0
    """Port of the API, over TLS, that only serves routes; 0: api_port alone."""
    gateway_control: str = ""
    """URL of the API that `leyden gateway` gets its routes from."""
    gateway_control_ca: str = ""
    """PEM file of authorities to trust for gateway_control over https."""
    gateway_control_name: str = ""
    """Name in the certificate of gateway_control; empty: the URL's host."""
    peer_ports: str = ""
    """Public ports for nodes' peers, like 21000-21999,22500; empty: none."""
    peer_host: str = ""
    """Public host name or IP address for nodes' peers; empty: gateway_host."""
    tor_control: str = ""
    """Tor's control port: HOST:PORT or unix:/PATH; empty: no onion addresses."""
    tor_password: str = ""
    """Password of Tor's control port; empty: none."""
    tor_cookie_file: str = ""
    """Cookie file of Tor's control port; empty: none."""
    tor_target: str = ""
    """IP address where Tor reaches peer_ports; empty: gateway_host."""
    tor_socks: str = ""
    """Tor's SOCKS port for nodes to reach onion addresses: IP:PORT; empty: none."""
    envoy: str = ""
    """Path of an Envoy to use instead of the bundled one."""
    nodes_addresses: str = "127.64.0.0/16"
    """Loopback network of the nodes' IP addresses."""
    nodes_first_uid: Count = 0
    """First user id for nodes; 0: a free block as root, otherwise our own user."""
    nodes_fence: Literal["auto", "required", "off"] = "auto"
    """Egress policy of nodes: auto (if possible or required), required, or off."""
    nodes_may_reach: str = ""
    """Networks, or ADDRESS:PORT, that nodes can reach besides the public internet."""
    nodes_may_not_reach: str = ""
    """Public networks that nodes can't reach, such as your own."""
    nodes_cgroups: Literal["auto", "required", "off"] = "auto"
    """Limit nodes with cgroups v2: auto (if possible), required, or off."""
    standard_memory_mb: Memory = 1024
    """Memory limit of a standard node, in MiB."""
    standard_disk_gib: Some = 10
    """Volume size of a standard node in a cluster, in GiB."""
    standard_weight: Weight = 100
    """CPU weight of a standard node."""
    standard_cpus: Some = 1
    """CPUs that a standard node uses at once; applies from the node's next start."""
    professional_memory_mb: Memory = 4096
    """Memory limit of a professional node, in MiB."""
    professional_disk_gib: Some = 50
    """Volume size of a professional node in a cluster, in GiB."""
    professional_weight: Weight = 400
    """CPU weight of a professional node."""
    professional_cpus: Some = 4
    """CPUs that a professional node uses at once; applies from its next start."""
    node_rest_port: Port = 18_080
    """Port of each node's REST, at the node's own IP address."""
    node_grpc_port: Port = 18_009
    """Port of each node's gRPC, at the node's own IP address."""
    node_peer_port: Port = 18_735
    """Port of each node for peers, at the node's own IP address."""
    node_stop_grace_s: Seconds = 600
    """Time for lnd to stop gracefully before it is killed."""
    node_log_files: Some = 3
    """Rotated log files to keep per node; applies from the node's next start."""
    node_log_file_mb: Annotated[int, Meta(ge=1, le=10_000)] = 10
    """Maximum size of a log file, in MB; applies from the node's next start."""
    dashboard_origins: str = ""
    """Origins of the dashboard, whose pages call nodes; empty: the API's URL."""
    docs_published: str = ""
    """Operators' guides that /docs shows to customers, too; comma-separated."""
    status_page: bool = False
    """Serve /status to everybody: what works, and incidents of the last week."""
    price_source: str = ""
    """URL of bitcoin's price, as in {"USD": 70000}, asked each minute; empty: none."""
    price_currency: Annotated[str, Meta(pattern="^[A-Z]{3}$")] = "USD"
    """Currency of price_source in which pages show amounts, beside satoshis."""
    node_data_kept_s: Seconds = 604_800
    """Time during which a deleted node can be restored."""

    # Certificates from an authority that browsers and clients trust already
    acme_directory: str = ""
    """URL of an ACME directory to get certificates from; empty: our own authority."""
    acme_email: str = ""
    """Contact email for the ACME server; empty: none."""
    acme_authorities: str = ""
    """PEM file of additional authorities to trust, for ACME and its certificates."""
    acme_port: Port = 80
    """Port at gateway_host for http-01 challenges; 0: only the API's port."""
    acme_binding_id: str = ""
    """Key id for external account binding; empty: none."""
    acme_binding_secret: str = ""
    """HMAC key for external account binding, base64url."""
    acme_api_name: str = ""
    """Host name of the API to get an ACME certificate for; empty: none."""

    # Chains
    testnet_chain: Literal["", "simnet", "regtest", "testnet4", "signet", "testnet"] = (
        ""
    )
    """Chain of `testnet`: testnet4, signet, testnet, regtest, simnet; empty: none."""
    testnet_backend: Literal["btcd", "bitcoind", "neutrino"] = "btcd"
    """Chain backend of nodes on testnet: btcd, bitcoind or neutrino."""
    testnet_rpc_host: str = ""
    """HOST:PORT of the testnet backend."""
    testnet_rpc_user: str = ""
    """User name at the testnet backend."""
    testnet_rpc_password: str = ""
    """Password at the testnet backend."""
    testnet_rpc_certificate: str = ""
    """Certificate file of testnet's btcd."""
    testnet_peers: str = ""
    """Peers that serve filters to neutrino on testnet, comma-separated."""
    mainnet_backend: Literal["", "btcd", "bitcoind", "neutrino"] = ""
    """Chain backend on mainnet: btcd, bitcoind or neutrino; empty: no mainnet."""
    mainnet_rpc_host: str = ""
    """HOST:PORT of the mainnet backend."""
    mainnet_rpc_user: str = ""
    """User name at the mainnet backend."""
    mainnet_rpc_password: str = ""
    """Password at the mainnet backend."""
    mainnet_rpc_certificate: str = ""
    """Certificate file of mainnet's btcd."""
    mainnet_peers: str = ""
    """Peers that serve filters to neutrino on mainnet, comma-separated."""
    mainnet_fee_url: str = ""
    """URL of the fee estimator, which neutrino on mainnet needs."""

    # The private chain of `leyden up`
    devnet_btcd_port: Port = 18_556
    """Port of btcd."""
    devnet_treasury_peer_port: Port = 19_735
    """Peer port of the treasury's lnd."""
    devnet_treasury_grpc_port: Port = 11_009
    """gRPC port of the treasury's lnd."""
    devnet_treasury_rest_port: Port = 18_081
    """REST port of the treasury's lnd."""
    devnet_block_s: Count = 60
    """Seconds between blocks while a transaction waits for them; 0: you mine."""
    devnet_market: bool = True
    """Run an auction, with a seller, a provider and a customer."""
    devnet_auctioneer_port: Port = 12_020
    """Port of the auctioneer for traders."""
    devnet_auctioneer_control_port: Port = 12_021
    """Control port of the auctioneer."""
    devnet_provider_grpc_port: Port = 12_030
    """gRPC port of the provider's poold, which uses the treasury's lnd."""
    devnet_provider_rest_port: Port = 12_031
    """REST port of the provider's poold."""
    devnet_asker_peer_port: Port = 19_736
    """Peer port of the asker's lnd."""
    devnet_asker_grpc_port: Port = 11_010
    """gRPC port of the asker's lnd."""
    devnet_asker_rest_port: Port = 18_082
    """REST port of the asker's lnd."""
    devnet_asker_pool_grpc_port: Port = 12_032
    """gRPC port of the asker's poold."""
    devnet_asker_pool_rest_port: Port = 12_033
    """REST port of the asker's poold."""
    devnet_seller_peer_port: Port = 19_738
    """Peer port of the seller's lnd."""
    devnet_seller_grpc_port: Port = 11_012
    """gRPC port of the seller's lnd."""
    devnet_seller_rest_port: Port = 18_084
    """REST port of the seller's lnd."""
    devnet_customer_peer_port: Port = 19_737
    """Peer port of the customer's lnd."""
    devnet_customer_grpc_port: Port = 11_011
    """gRPC port of the customer's lnd."""
    devnet_customer_rest_port: Port = 18_083
    """REST port of the customer's lnd."""
    devnet_customer_pool_grpc_port: Port = 12_034
    """gRPC port of the customer's poold."""
    devnet_customer_pool_rest_port: Port = 12_035
    """REST port of the customer's poold."""

    devnet_jit: bool = False
    """Run an lnd of just-in-time channels, the purse, beside the auction."""
    devnet_purse_peer_port: Port = 19_739
    """Peer port of the purse's lnd."""
    devnet_purse_grpc_port: Port = 11_013
    """gRPC port of the purse's lnd."""
    devnet_purse_rest_port: Port = 18_085
    """REST port of the purse's lnd."""

    # Selling channels
    treasury_host: str = ""
    """HOST:PORT of the treasury's REST, the lnd that receives payments; empty: none."""
    treasury_certificate: str = ""
    """Certificate file of the treasury's lnd."""
    treasury_macaroon: str = ""
    """Macaroon file for the treasury: invoices, addresses, and reading coins."""
    treasury_pubkey: Annotated[str, Meta(pattern="^$|^0[23][0-9A-Fa-f]{64}$")] = ""
    """Public key of the treasury; empty: the first one seen."""
    market: str = ""
    """Sources of channels: pool (or simulated), own, jit, lsps1:URL."""
    pool_host: str = ""
    """HOST:PORT of the gRPC of the poold that buys channels."""
    pool_certificate: str = ""
    """Certificate file of that poold."""
    pool_macaroon: str = ""
    """Macaroon file of that poold."""
    pool_account: str = ""
    """Trader key of the Pool account; empty: the one with the highest balance."""
    pool_batch_fee_sat_per_kw: Annotated[int, Meta(ge=253, le=10**6)] = 12_500
    """Maximum fee rate of a batch, in sat/kw; buyers prepay it."""
    pool_low_sats: Count = 1_000_000
    """Balance of the Pool account below which an alarm is raised, in sat."""
    pool_renew_days: Annotated[int, Meta(ge=1, le=300)] = 14
    """Days before the Pool account expires to renew it."""
    pool_lives_days: Annotated[int, Meta(ge=2, le=365)] = 90
    """Days that the Pool account lasts when opened or renewed."""
    pool_fee_sat_per_kw: Annotated[int, Meta(ge=253, le=10**6)] = 2_500
    """Fee rate of our transactions for the Pool account, in sat/kw."""
    seller_host: str = ""
    """HOST:PORT of the seller's REST, the lnd of direct channels; empty: none."""
    seller_certificate: str = ""
    """Certificate file of the seller's lnd."""
    seller_macaroon: str = ""
    """Macaroon file for the seller: opens channels, can't send payments."""
    seller_pubkey: Annotated[str, Meta(pattern="^$|^0[23][0-9A-Fa-f]{64}$")] = ""
    """Public key of the seller; empty: the first one seen."""
    seller_fee_sat_per_vb: Annotated[int, Meta(ge=1, le=5_000)] = 50
    """Maximum fee rate of a funding transaction, in sat/vB; buyers prepay it."""
    seller_bump_after_blocks: Annotated[int, Meta(ge=1, le=1_008)] = 12
    """Blocks to wait for a funding transaction before its fee is bumped."""
    seller_bump_sat_per_vb: Annotated[int, Meta(ge=1, le=5_000)] = 200
    """Maximum fee rate to bump to, in sat/vB; the seller's wallet pays it."""
    seller_largest: Some = 16_700_000
    """Maximum size of a direct channel, in sat."""
    seller_most_per_hour: Some = 51_000_000
    """Maximum total size of direct channels per hour, in sat."""
    seller_most_per_peer: Some = 50_000_000
    """Maximum total size of direct channels to one node, in sat."""
    seller_low_sats: Count = 5_000_000
    """Balance of the seller's wallet below which an alarm is raised, in sat."""
    buy_host: str = ""
    """HOST:PORT of the REST of the lnd that pays other LSPs; empty: the seller's."""
    buy_certificate: str = ""
    """Certificate file of the lnd that pays other LSPs."""
    buy_macaroon: str = ""
    """Macaroon file for the lnd that pays other LSPs; it can spend."""
    buy_most: Some = 200_000
    """Maximum price of a channel of another LSP, with routing, in sat."""
    buy_most_per_hour: Some = 1_000_000
    """Maximum sum paid to other LSPs per hour, in sat."""
    buy_routing_ppm: Annotated[int, Meta(ge=0, le=100_000)] = 5_000
    """Maximum routing fee of a payment to another LSP, in ppm of its price."""
    lsps1: bool = False
    """Sell direct channels to any node over LSPS1."""
    lsps1_organization: str = ""
    """Name or id of your organization that owns LSPS1 orders."""
    lsps1_order_lives_s: Seconds = 1200
    """Time to pay an LSPS1 order."""
    lsps1_orders_per_peer: Some = 5
    """Maximum unpaid LSPS1 orders per node, over BOLT8 and over HTTP each."""
    lsps1_orders_per_address: Some = 20
    """Maximum unpaid LSPS1 orders per IP address over HTTP."""
    lsps1_most_reserved: Some = 25_000_000
    """Maximum amount reserved for paid LSPS1 orders without a channel, in sat."""
    lsps1_requests_per_minute: Some = 60
    """Maximum LSPS1 requests per minute, per peer or IP address."""
    lsps7: bool = False
    """Let nodes extend their channels' leases over LSPS7, a draft; needs lsps1."""
    jit_host: str = ""
    """HOST:PORT of the REST of the lnd of just-in-time channels; empty: none."""
    jit_certificate: str = ""
    """Certificate file of the lnd of just-in-time channels."""
    jit_macaroon: str = ""
    """Macaroon file for the lnd of just-in-time channels; it can spend."""
    jit_fee_base: Count = 1000
    """Least fee of a just-in-time channel, beside its transaction's, in sat."""
    jit_fee_ppm: Annotated[int, Meta(ge=0, le=500_000)] = 10_000
    """Fee of a just-in-time channel in ppm of the payment, if that is more."""
    jit_fee_sat_per_vb: Annotated[int, Meta(ge=1, le=5_000)] = 100
    """Maximum fee rate at which just-in-time channels are sold, in sat/vB."""
    jit_smallest: Some = 20_000
    """Minimum payment that opens a just-in-time channel, in sat."""
    jit_largest: Some = 1_000_000
    """Maximum payment that opens a just-in-time channel, in sat."""
    jit_spare: Annotated[int, Meta(ge=20_000, le=10**9)] = 100_000
    """Capacity of a just-in-time channel beyond its payment, in sat."""
    jit_offer_lives_s: Annotated[int, Meta(ge=600, le=10**6)] = 7200
    """Time in which a just-in-time channel can be bought and paid."""
    jit_orders_per_peer: Some = 5
    """Maximum unpaid just-in-time orders per node."""
    jit_most_per_hour: Some = 10_000_000
    """Maximum total size of just-in-time channels per hour, in sat."""
    jit_most_unpaid: Count = 5_000_000
    """Size of just-in-time channels opened for nothing in a week to stop at, in sat."""
    jit_wrapped_invoices: bool = False
    """Also sell just-in-time channels with wrapped invoices, over HTTP."""
    jit_client_trusts_lsp: bool = False
    """Publish a new node's just-in-time channel only once it claimed its payment."""
    rate_bps: Count = 50
    """Premium of a usual lease, in hundredths of a percent."""
    service_fee_base: Count = 1000
    """Base service fee of an order, in sat."""
    service_fee_ppm: Count = 1000
    """Service fee in ppm of the capacity."""
    keep_unused_pool_fee: bool = False
    """Keep what the auction doesn't use of `pool_fee`; false: credit it."""
    order_lives_s: Seconds = 3600
    """Time to pay an order."""
    quote_holds_s: Seconds = 600
    """Time that a quote is valid."""

    # Webhooks
    webhooks_over_http: bool = False
    """Allow webhooks without TLS."""
    webhook_networks: str = ""
    """Private networks that webhooks can be sent to, comma-separated."""
    webhook_forbidden_networks: str = ""
    """Public networks that webhooks can't be sent to, such as your own."""
    webhook_ports: str = ""
    """Ports for webhooks; empty: 443, 8000-9999; with webhooks_over_http, any."""
    webhook_authorities: str = ""
    """PEM file of additional authorities to trust for webhook endpoints."""
    webhook_deadline_s: Seconds = 15
    """Timeout of one delivery attempt."""
    webhook_retries_s: str = "5, 30, 120, 600, 3600, 10800, 21600, 43200, 86400"
    """Delays between delivery attempts, in seconds, comma-separated."""
    webhook_patience_s: Seconds = 432_000
    """Time that all deliveries to an endpoint can fail before it is paused."""
    webhook_old_secret_s: Seconds = 86_400
    """Time that a replaced webhook secret also signs."""
    webhooks_kept_s: Seconds = 2_592_000
    """Time to keep deliveries, which can be viewed and redelivered."""
    webhook_tests_per_minute: Count = 10
    """Maximum tests, redeliveries and resends per minute, per host and organization."""

    # Emails
    smtp_host: str = ""
    """Host name of the mail server; empty: no emails."""
    smtp_port: Port = 587
    """Port of the mail server."""
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """Encryption: starttls, tls, or none (only for a server on this machine)."""
    smtp_user: str = ""
    """User name at the mail server; empty: none."""
    smtp_password: str = ""
    """Password at the mail server."""
    smtp_from: str = ""
    """Sender address of emails."""
    smtp_authorities: str = ""
    """PEM file of additional authorities to trust for the mail server."""
    emails_per_hour: Some = 6
    """Maximum event emails per hour, person and organization; then a digest."""

    # Events
    events_kept_s: Seconds = 7_776_000
    """Time to keep an organization's events."""
    event_waits_per_key: Some = 20
    """Maximum requests that wait for events, per API key; per organization, 5x."""

    # Limits
    requests_per_minute: Count = 600
    """Maximum requests per minute, per API key or person; per organization, 5x."""
    failures_per_minute: Count = 20
    """Maximum failed keys per minute, per prefix and IP address; in total, 10x."""
    nodes_per_organization: Count = 25
    """Maximum nodes per organization; change one with `leyden orgs quotas`."""
    unpaid_orders_per_organization: Count = 5
    """Maximum unpaid orders per organization."""
    keys_per_organization: Count = 20
    """Maximum active API keys per organization."""
    invitations_per_organization: Count = 20
    """Maximum pending invitations per organization."""
    members_per_organization: Count = 100
    """Maximum members per organization."""
    macaroons_per_node: Count = 50
    """Maximum stored macaroons per node."""
    replaced_backups_mb_per_organization: Count = 100
    """Maximum size of replaced backups per organization, in MB."""
    idempotency_keys_per_organization: Count = 10_000
    """Maximum stored Idempotency-Keys per organization."""
    answers_kept_s: Seconds = 86_400
    """Time that an Idempotency-Key is stored."""

    # People who sign in
    session_idle_s: Seconds = 86_400
    """Time without activity until a user must sign in again."""
    session_lives_s: Seconds = 1_209_600
    """Maximum time until a user must sign in again."""
    sign_in_failures: Annotated[int, Meta(ge=1, le=10**6)] = 10
    """Wrong passwords within 15 minutes before a user has to wait."""
    invitation_lives_s: Seconds = 604_800
    """Time to accept an invitation."""

    # Backups
    backup_store: str = ""
    """Folder for backups, or s3:https://HOST/BUCKET/PATH; empty: no backups."""
    backup_s3_key_id: str = ""
    """Access key id of the S3-compatible store."""
    backup_s3_secret: str = ""
    """Secret access key of the S3-compatible store."""
    backup_every_s: Seconds = 3600
    """Time between backups."""
    backup_changes: bool = True
    """Also send changes in SQLite to the store within seconds."""
    backup_drill_every_s: Seconds = 86_400
    """Time between drills, which restore the newest backup."""
    backup_keep: str = "48 hourly, 14 daily, 8 weekly, 24 monthly"
    """Backups to keep, comma-separated; empty: all."""
    backup_deadline_s: Seconds = 7200
    """Timeout of one call to the store."""

    # The process
    stop_delay_s: Count = 0
    """Time to go on serving when told to stop, while balancers take us off."""
    stop_grace_s: Seconds = 20
    """Time for requests to finish when the platform stops."""
    log_format: Literal["text", "json"] = "text"
    """Format of log lines: text or json."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum level of log lines: debug, info, warning or error."""

    @property
    def home_path(self) -> Path:
        """The absolute path of the home folder."""
        return Path(self.home).expanduser().absolute()

    @property
    def database(self) -> str:
        """The database's URL, or its default."""
        return self.database_url or f"sqlite:///{self.home_path}/leyden.db"

    @property
    def secrets_path(self) -> Path:
        """The path of the key file, or its default."""
        return Path(self.secrets_file or self.home_path / "secrets.json")

    @property
    def api_url(self) -> str:
        """The URL of the API on this machine."""
        host = self.api_host if ":" not in self.api_host else f"[{self.api_host}]"
        return f"{self._scheme}://{host}:{self.api_port}"

    @property
    def dashboard_url(self) -> str:
        """The URL of the dashboard on this machine."""
        # Passkeys are for names: a browser makes none for a bare address.
        if self.api_host == "127.0.0.1":
            return f"{self._scheme}://localhost:{self.api_port}/app/"
        return f"{self.api_url}/app/"

    @property
    def _scheme(self) -> str:
        return "https" if self.api_tls else "http"

    @property
    def runs_here(self) -> bool:
        """Whether nodes run on this machine."""
        return self.runtime != "kubernetes"

    @property
    def runs_in_cluster(self) -> bool:
        """Whether nodes run in a cluster."""
        return self.runtime != "local"

    @property
    def has_private_chain(self) -> bool:
        """Whether testnet is the private chain of `leyden up` in this home."""
        certificate = Path(self.testnet_rpc_certificate)
        return certificate.is_relative_to(self.home_path / PRIVATE_CHAIN)


def every_setting() -> Iterator[tuple[str, Any, str]]:
    """Yield each setting's name, default and description, in order."""
    # Python keeps no docstrings of attributes, but it keeps the source.
    body = ast.parse(inspect.getsource(Settings)).body[0]
    defaults = {field.name: field.default for field in fields(Settings)}
    for setting, sentence in pairwise(getattr(body, "body", ())):
        if isinstance(setting, ast.AnnAssign):
            name = ast.unparse(setting.target)
            yield name, defaults[name], ast.literal_eval(sentence.value)
