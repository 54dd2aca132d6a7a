"""All settings: name, default and a one-sentence description."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

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


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an installation, each described by the text below it."""

    # Where everything is
    home: str = ".leyden"
    """The folder that holds everything."""
    database_url: str = ""
    """sqlite:///PATH or postgresql://...; empty is HOME/leyden.db."""
    secrets_file: str = ""
    """The keys that seal what is stored; empty is HOME/secrets.json."""
    own_binaries: str = ""
    """Programs to use instead of building them: names or paths, comma between."""

    # The API
    api_host: str = "127.0.0.1"
    """The address the API listens on."""
    api_port: Port = 8000
    """The port the API listens on."""
    api_tls_certificate: str = ""
    """A PEM chain to serve the API over TLS; empty for none."""
    api_tls_key: str = ""
    """The PEM key that belongs to api_tls_certificate."""
    api_tls: bool = False
    """Serve the API over TLS with a certificate of the platform's own authority."""
    api_proxies: str = ""
    """Networks of proxies that are believed about a caller's address, comma between."""
    metrics_port: Port = 9464
    """The loopback port of /metrics; 0 for none."""

    # Nodes and the way to them
    runtime: Literal["local", "kubernetes", "both"] = "local"
    """Where nodes run: local is this machine; the others are in development."""
    kubeconfig: str = ""
    """In development: the file that leads to a cluster; empty is the one we run in."""
    kubernetes_namespace: str = ""
    """In development: the namespace that nodes have for themselves."""
    kubernetes_storage_class: str = ""
    """In development: the class of nodes' volumes; its reclaimPolicy must be Retain."""
    kubernetes_priority_class: str = ""
    """In development: the priority class of nodes' pods; empty is the default one."""
    kubernetes_images: str = ""
    """In development: VERSION=IMAGE@sha256:DIGEST of each lnd, comma between."""
    companion_image: str = ""
    """In development: IMAGE@sha256:DIGEST of the companion of nodes; empty for none."""
    companion_url: str = ""
    """In development: where companions reach the API server: https://HOST:PORT."""
    companion_host: str = "0.0.0.0"  # noqa: S104  pods are not on this machine
    """In development: the address on which companions are listened to."""
    companion_port: Port = 8010
    """In development: the port on which companions are listened to."""
    nodes_domain: str = "nodes.localhost"
    """The domain below which every node has its name."""
    gateway_here: bool = True
    """Run a gateway beside the worker; false where all are on other machines."""
    gateway_host: str = "127.0.0.1"
    """The address on which nodes are reached."""
    gateway_rest_port: Port = 8080
    """The port on which all nodes' REST is reached."""
    gateway_grpc_port: Port = 10_009
    """The port on which all nodes' gRPC is reached."""
    gateway_balancers: str = ""
    """Networks of load balancers that send a PROXY preamble, comma between."""
    gateway_connections: Some = 10_000
    """Connections to all nodes together, those that told no name yet among them."""
    gateway_connections_per_source: Some = 200
    """Connections that one address may have to all nodes together."""
    gateway_connections_per_node: Some = 1000
    """Connections that one node may have."""
    gateway_arrivals_per_source: Pace = 50
    """New connections a second from one address, where nftables holds nodes."""
    gateway_peer_connections_per_node: Some = 500
    """Connections that peers may have to one node."""
    gateway_peer_connections_per_source: Some = 10
    """Connections that one address may have to one node as its peer."""
    gateway_peer_arrivals_per_source: Pace = 20
    """New connections a second from one address to nodes as their peer."""
    gateway_peer_arrivals_per_node: Pace = 50
    """New connections a second of peers to one node, where nftables holds nodes."""
    gateway_peers_unlimited: str = ""
    """Networks of peers that are not limited by address, comma between."""
    gateway_hello_timeout_s: Seconds = 3
    """How long a new connection may take to tell which node it is for."""
    gateway_idle_timeout_s: Seconds = 86_400
    """How long a connection to a node may be silent."""
    gateway_workers: Annotated[int, Meta(ge=1, le=256)] = 2
    """Threads that carry connections to nodes."""
    gateway_token: str = ""
    """The secret that gateways on other machines show; empty for no such gateways."""
    gateway_control: str = ""
    """The URL of the API that `leyden gateway` asks for its routes."""
    gateway_control_ca: str = ""
    """A PEM file of authorities to trust for gateway_control, where it is https."""
    peer_ports: str = ""
    """Public ports for nodes' peers, like 21000-21999,22500; empty for none."""
    peer_host: str = ""
    """The public name or address of nodes for their peers; empty is gateway_host."""
    envoy: str = ""
    """An Envoy to use instead of the one that comes along."""
    nodes_addresses: str = "127.64.0.0/16"
    """The loopback network in which every node has an address."""
    nodes_first_uid: Count = 0
    """The first of the users that nodes run as; 0 is a free block for root, else us."""
    nodes_fence: Literal["auto", "required", "off"] = "auto"
    """The egress policy of nodes: where it can or has to be had, always, or never."""
    nodes_may_reach: str = ""
    """Networks, or ADDRESS:PORT, that nodes may reach beside the public internet."""
    nodes_may_not_reach: str = ""
    """Public networks that nodes may not reach, for example our own."""
    nodes_cgroups: Literal["auto", "required", "off"] = "auto"
    """Whether cgroups (v2) hold nodes to their shares: if they can, always, or not."""
    standard_memory_mb: Memory = 1024
    """The memory of a standard node."""
    standard_disk_gib: Some = 10
    """In development: the size of a standard node's volume in a cluster."""
    standard_weight: Weight = 100
    """How much a standard node counts where processors are short."""
    professional_memory_mb: Memory = 4096
    """The memory of a professional node."""
    professional_disk_gib: Some = 50
    """In development: the size of a professional node's volume in a cluster."""
    professional_weight: Weight = 400
    """How much a professional node counts where processors are short."""
    node_rest_port: Port = 18_080
    """The port of each node's REST, at the node's own address."""
    node_grpc_port: Port = 18_009
    """The port of each node's gRPC, at the node's own address."""
    node_peer_port: Port = 18_735
    """The port of each node's peers, at the node's own address."""
    node_stop_grace_s: Seconds = 600
    """How long lnd may take to stop before it is ended."""
    node_log_files: Some = 3
    """How many full log files of a node are kept; takes effect at its next start."""
    node_log_file_mb: Annotated[int, Meta(ge=1, le=10_000)] = 10
    """How large one of them may be; takes effect at the node's next start."""
    dashboard_origins: str = ""
    """Where browsers find the dashboard; its pages talk to nodes. Empty is the API."""
    node_data_kept_s: Seconds = 604_800
    """How long the data of a deleted node is kept, and can be restored."""

    # Certificates from an authority that browsers and clients trust already
    acme_directory: str = ""
    """The URL of an ACME directory: who issues certificates; empty is us alone."""
    acme_email: str = ""
    """Where that authority may write to; empty is nowhere."""
    acme_authorities: str = ""
    """A PEM file of authorities to trust besides the system's for it and its chains."""
    acme_port: Port = 80
    """The port at gateway_host on which it looks for answers; 0 is the API's alone."""
    acme_binding_id: str = ""
    """The id of an account there is with it already; empty where it asks for none."""
    acme_binding_secret: str = ""
    """The secret of that account, base64url."""
    acme_api_name: str = ""
    """The name for which the API gets a certificate from it; empty for none."""

    # Chains
    testnet_chain: Literal["", "simnet", "regtest", "testnet4", "signet", "testnet"] = (
        ""
    )
    """The chain that the API's testnet stands for; empty for no testnet."""
    testnet_backend: Literal["btcd", "bitcoind", "neutrino"] = "btcd"
    """Where nodes on testnet learn of blocks."""
    testnet_rpc_host: str = ""
    """HOST:PORT of the backend of testnet."""
    testnet_rpc_user: str = ""
    """The user at the backend of testnet."""
    testnet_rpc_password: str = ""
    """The password at the backend of testnet."""
    testnet_rpc_certificate: str = ""
    """The file with the certificate of testnet's btcd."""
    testnet_peers: str = ""
    """Peers that serve filters to neutrino on testnet, comma between."""
    mainnet_backend: Literal["", "btcd", "bitcoind", "neutrino"] = ""
    """Where nodes on mainnet learn of blocks; empty is no mainnet."""
    mainnet_rpc_host: str = ""
    """HOST:PORT of the backend of mainnet."""
    mainnet_rpc_user: str = ""
    """The user at the backend of mainnet."""
    mainnet_rpc_password: str = ""
    """The password at the backend of mainnet."""
    mainnet_rpc_certificate: str = ""
    """The file with the certificate of mainnet's btcd."""
    mainnet_peers: str = ""
    """Peers that serve filters to neutrino on mainnet, comma between."""
    mainnet_fee_url: str = ""
    """The fee estimator that neutrino on mainnet needs."""

    # The private chain of `leyden up`
    devnet_btcd_port: Port = 18_556
    """The port of its btcd."""
    devnet_treasury_peer_port: Port = 19_735
    """The port on which the treasury's lnd meets its peers."""
    devnet_treasury_grpc_port: Port = 11_009
    """The port of the treasury's gRPC."""
    devnet_treasury_rest_port: Port = 18_081
    """The port of the treasury's REST."""
    devnet_market: bool = True
    """Whether there is an auction on it, with a seller, a provider and a customer."""
    devnet_auctioneer_port: Port = 12_020
    """The port on which the auctioneer meets traders."""
    devnet_auctioneer_control_port: Port = 12_021
    """The port of the auctioneer's control."""
    devnet_provider_grpc_port: Port = 12_030
    """The port of the gRPC of the provider's poold, which is beside the treasury."""
    devnet_provider_rest_port: Port = 12_031
    """The port of the REST of the provider's poold."""
    devnet_asker_peer_port: Port = 19_736
    """The port on which the asker's lnd meets its peers."""
    devnet_asker_grpc_port: Port = 11_010
    """The port of the asker's gRPC."""
    devnet_asker_rest_port: Port = 18_082
    """The port of the asker's REST."""
    devnet_asker_pool_grpc_port: Port = 12_032
    """The port of the gRPC of the asker's poold."""
    devnet_asker_pool_rest_port: Port = 12_033
    """The port of the REST of the asker's poold."""
    devnet_seller_peer_port: Port = 19_738
    """The port on which the seller's lnd meets its peers."""
    devnet_seller_grpc_port: Port = 11_012
    """The port of the seller's gRPC."""
    devnet_seller_rest_port: Port = 18_084
    """The port of the seller's REST."""
    devnet_customer_peer_port: Port = 19_737
    """The port on which the customer's lnd meets its peers."""
    devnet_customer_grpc_port: Port = 11_011
    """The port of the customer's gRPC."""
    devnet_customer_rest_port: Port = 18_083
    """The port of the customer's REST."""
    devnet_customer_pool_grpc_port: Port = 12_034
    """The port of the gRPC of the customer's poold."""
    devnet_customer_pool_rest_port: Port = 12_035
    """The port of the REST of the customer's poold."""

    # Selling channels
    treasury_host: str = ""
    """HOST:PORT of the REST of the lnd that takes payments; empty sells nothing."""
    treasury_certificate: str = ""
    """The file with that lnd's certificate."""
    treasury_macaroon: str = ""
    """The file with a macaroon for invoices, addresses and looking at coins."""
    treasury_pubkey: Annotated[str, Meta(pattern="^$|^0[23][0-9A-Fa-f]{64}$")] = ""
    """The identity key of that lnd; empty is the first one that was seen."""
    market: str = ""
    """Where channels come from, comma between: pool (or simulated) and own."""
    pool_host: str = ""
    """HOST:PORT of the gRPC of the poold that buys channels."""
    pool_certificate: str = ""
    """The file with that poold's certificate."""
    pool_macaroon: str = ""
    """The file with that poold's macaroon."""
    pool_account: str = ""
    """The trader key of the account to buy from; empty is the fullest one."""
    pool_batch_fee_sat_per_kw: Annotated[int, Meta(ge=253, le=10**6)] = 12_500
    """The highest fee rate of a batch that is joined; buyers pay for it in advance."""
    pool_low_sats: Count = 1_000_000
    """What is left to buy channels with when the operator is told that it is low."""
    pool_renew_days: Annotated[int, Meta(ge=1, le=300)] = 14
    """How many days before its end the account is renewed."""
    pool_lives_days: Annotated[int, Meta(ge=2, le=365)] = 90
    """For how many days an account is opened or renewed."""
    pool_fee_sat_per_kw: Annotated[int, Meta(ge=253, le=10**6)] = 2_500
    """The fee rate of our own transactions for the account."""
    seller_host: str = ""
    """HOST:PORT of the REST of the lnd that opens direct channels; empty sells none."""
    seller_certificate: str = ""
    """The file with that lnd's certificate."""
    seller_macaroon: str = ""
    """The file with a macaroon that opens channels and sends nothing."""
    seller_pubkey: Annotated[str, Meta(pattern="^$|^0[23][0-9A-Fa-f]{64}$")] = ""
    """The identity key of that lnd; empty is the first one that was seen."""
    seller_fee_sat_per_vb: Annotated[int, Meta(ge=1, le=5_000)] = 50
    """The highest fee rate of a funding transaction; buyers pay for it in advance."""
    seller_bump_after_blocks: Annotated[int, Meta(ge=1, le=1_008)] = 12
    """The blocks without it after which a funding transaction is bumped."""
    seller_bump_sat_per_vb: Annotated[int, Meta(ge=1, le=5_000)] = 200
    """The highest fee rate that it is bumped to; the seller's wallet pays for it."""
    seller_largest: Some = 16_700_000
    """The most satoshis that one direct channel may have."""
    seller_most_per_hour: Some = 50_000_000
    """The most satoshis of direct channels that may be ordered in an hour."""
    seller_most_per_peer: Some = 50_000_000
    """The most satoshis of direct channels that one node may get."""
    seller_low_sats: Count = 5_000_000
    """What the seller's wallet has left when the operator is told that it is low."""
    lsps1: bool = False
    """Whether direct channels are sold to any node, over LSPS1."""
    lsps1_organization: str = ""
    """The name or id of the organization of yours that such orders belong to."""
    lsps1_order_lives_s: Seconds = 1200
    """How long such an order waits for its payment, with coins reserved for it."""
    lsps1_orders_per_peer: Some = 5
    """Unpaid orders for one node, over BOLT8 and over HTTP each."""
    lsps1_orders_per_address: Some = 20
    """Unpaid orders from one address over HTTP."""
    lsps1_most_reserved: Some = 25_000_000
    """The most satoshis of coins that all unpaid orders of LSPS1 reserve."""
    lsps1_requests_per_minute: Some = 60
    """Requests of LSPS1 a minute, of a peer or an address."""
    rate_bps: Count = 50
    """The premium of a usual lease in hundredths of a percent."""
    service_fee_base: Count = 1000
    """What an order costs beside the channel, in satoshis."""
    service_fee_ppm: Count = 1000
    """And for each million satoshis of capacity."""
    keep_unused_pool_fee: bool = False
    """Whether what the auction leaves of `pool_fee` is earned and not credited."""
    order_lives_s: Seconds = 3600
    """How long an order waits for its payment."""
    quote_holds_s: Seconds = 600
    """How long a quote holds."""

    # Webhooks
    webhooks_over_http: bool = False
    """Whether a webhook may be called without TLS."""
    webhook_networks: str = ""
    """Private networks that webhooks may be sent to all the same, comma between."""
    webhook_forbidden_networks: str = ""
    """Public networks that webhooks may not be sent to, for example our own."""
    webhook_ports: str = ""
    """Ports that webhooks may be sent to; empty is 443, 8000-9999, or all over HTTP."""
    webhook_authorities: str = ""
    """A PEM file of authorities to trust besides the system's for receivers."""
    webhook_deadline_s: Seconds = 15
    """How long one attempt to deliver a webhook may take in all."""
    webhook_retries_s: str = "5, 30, 120, 600, 3600, 10800, 21600, 43200, 86400"
    """The seconds between attempts to deliver a webhook, comma between."""
    webhook_patience_s: Seconds = 432_000
    """How long a receiver may take nothing before it is paused."""
    webhook_old_secret_s: Seconds = 86_400
    """How long a webhook secret that was replaced signs beside the new one."""
    webhooks_kept_s: Seconds = 2_592_000
    """How long webhooks are kept to be looked at and sent again."""
    webhook_tests_per_minute: Count = 10
    """Tests and redeliveries of webhooks a minute, for one host and organization."""

    # Emails
    smtp_host: str = ""
    """The mail server that takes emails; empty sends none."""
    smtp_port: Port = 587
    """The port of the mail server."""
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted; none is for a server on this machine alone."""
    smtp_user: str = ""
    """The user at the mail server; empty for none."""
    smtp_password: str = ""
    """The password at the mail server."""
    smtp_from: str = ""
    """The address that emails come from."""
    smtp_authorities: str = ""
    """A PEM file of authorities to trust besides the system's for the mail server."""
    emails_per_hour: Some = 6
    """Emails an hour about one organization's events to one person; then a digest."""

    # Events
    events_kept_s: Seconds = 7_776_000
    """How long an organization's events can be read again."""
    event_waits_per_key: Some = 20
    """Requests of an API key that wait for events; an organization, five times that."""

    # Limits
    requests_per_minute: Count = 600
    """Requests a minute of an API key or a person; an organization, five times that."""
    failures_per_minute: Count = 20
    """Refused keys a minute that begin alike, of an address; ten times that in all."""
    uploads_per_minute: Some = 60
    """Certificates, seeds and macaroons that one organization may upload a minute."""
    nodes_per_organization: Count = 25
    """Nodes that one organization may have; `leyden org quota` makes exceptions."""
    unpaid_orders_per_organization: Count = 5
    """Orders of one organization that may wait for their payment."""
    keys_per_organization: Count = 20
    """Live API keys that one organization may have."""
    invitations_per_organization: Count = 20
    """Open invitations that one organization may have."""
    members_per_organization: Count = 100
    """People that one organization may have."""
    macaroons_per_node: Count = 50
    """Encrypted macaroons that may be stored for one node."""
    replaced_backups_mb_per_organization: Count = 100
    """The history of replaced backups that one organization may have, in MB."""
    idempotency_keys_per_organization: Count = 10_000
    """Idempotency-Keys of one organization that may have a saved answer."""
    answers_kept_s: Seconds = 86_400
    """How long an Idempotency-Key keeps its answer."""

    # People who sign in
    session_idle_s: Seconds = 86_400
    """How long a browser may do nothing before it has to sign in again."""
    session_lives_s: Seconds = 1_209_600
    """How long a sign-in lasts at the most."""
    sign_in_failures: Annotated[int, Meta(ge=1, le=10**6)] = 10
    """Wrong passwords in a quarter of an hour before one has to wait."""
    invitation_lives_s: Seconds = 604_800
    """How long an invitation to an organization can be accepted."""

    # Backups
    backup_store: str = ""
    """Where backups go: a folder, or s3:https://HOST/BUCKET/PATH; empty for none."""
    backup_s3_key_id: str = ""
    """The id of the access key of an S3-compatible store."""
    backup_s3_secret: str = ""
    """The secret of that access key."""
    backup_every_s: Seconds = 3600
    """How often a backup is made."""
    backup_changes: bool = True
    """Whether what changes in SQLite leaves the machine within seconds, too."""
    backup_drill_every_s: Seconds = 86_400
    """How often the newest backup is restored for a drill."""
    backup_keep: str = "48 hourly, 14 daily, 8 weekly, 24 monthly"
    """Which backups are kept, comma between; empty is all of them."""
    backup_deadline_s: Seconds = 7200
    """How long one call of the store may take."""

    # The process
    stop_grace_s: Seconds = 20
    """How long requests may take to finish at a stop."""
    log_format: Literal["text", "json"] = "text"
    """How log lines look."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important log lines that are written."""

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


def every_setting() -> Iterator[tuple[str, Any, str]]:
    """Yield each setting's name, default and description, in order."""
    # Python keeps no docstrings of attributes, but it keeps the source.
    body = ast.parse(inspect.getsource(Settings)).body[0]
    defaults = {field.name: field.default for field in fields(Settings)}
    for setting, sentence in pairwise(getattr(body, "body", ())):
        if isinstance(setting, ast.AnnAssign):
            name = ast.unparse(setting.target)
            yield name, defaults[name], ast.literal_eval(sentence.value)
