from leyden.channels.tickets.stubs import auctioneer_pb2 as _auctioneer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccountVersion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCOUNT_VERSION_LND_DEPENDENT: _ClassVar[AccountVersion]
    ACCOUNT_VERSION_LEGACY: _ClassVar[AccountVersion]
    ACCOUNT_VERSION_TAPROOT: _ClassVar[AccountVersion]
    ACCOUNT_VERSION_TAPROOT_V2: _ClassVar[AccountVersion]

class AccountState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PENDING_OPEN: _ClassVar[AccountState]
    PENDING_UPDATE: _ClassVar[AccountState]
    OPEN: _ClassVar[AccountState]
    EXPIRED: _ClassVar[AccountState]
    PENDING_CLOSED: _ClassVar[AccountState]
    CLOSED: _ClassVar[AccountState]
    RECOVERY_FAILED: _ClassVar[AccountState]
    PENDING_BATCH: _ClassVar[AccountState]

class MatchState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREPARE: _ClassVar[MatchState]
    ACCEPTED: _ClassVar[MatchState]
    REJECTED: _ClassVar[MatchState]
    SIGNED: _ClassVar[MatchState]
    FINALIZED: _ClassVar[MatchState]

class MatchRejectReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NONE: _ClassVar[MatchRejectReason]
    SERVER_MISBEHAVIOR: _ClassVar[MatchRejectReason]
    BATCH_VERSION_MISMATCH: _ClassVar[MatchRejectReason]
    PARTIAL_REJECT_COLLATERAL: _ClassVar[MatchRejectReason]
    PARTIAL_REJECT_DUPLICATE_PEER: _ClassVar[MatchRejectReason]
    PARTIAL_REJECT_CHANNEL_FUNDING_FAILED: _ClassVar[MatchRejectReason]
ACCOUNT_VERSION_LND_DEPENDENT: AccountVersion
ACCOUNT_VERSION_LEGACY: AccountVersion
ACCOUNT_VERSION_TAPROOT: AccountVersion
ACCOUNT_VERSION_TAPROOT_V2: AccountVersion
PENDING_OPEN: AccountState
PENDING_UPDATE: AccountState
OPEN: AccountState
EXPIRED: AccountState
PENDING_CLOSED: AccountState
CLOSED: AccountState
RECOVERY_FAILED: AccountState
PENDING_BATCH: AccountState
PREPARE: MatchState
ACCEPTED: MatchState
REJECTED: MatchState
SIGNED: MatchState
FINALIZED: MatchState
NONE: MatchRejectReason
SERVER_MISBEHAVIOR: MatchRejectReason
BATCH_VERSION_MISMATCH: MatchRejectReason
PARTIAL_REJECT_COLLATERAL: MatchRejectReason
PARTIAL_REJECT_DUPLICATE_PEER: MatchRejectReason
PARTIAL_REJECT_CHANNEL_FUNDING_FAILED: MatchRejectReason

class InitAccountRequest(_message.Message):
    __slots__ = ("account_value", "absolute_height", "relative_height", "conf_target", "fee_rate_sat_per_kw", "initiator", "version")
    ACCOUNT_VALUE_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    CONF_TARGET_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    INITIATOR_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    account_value: int
    absolute_height: int
    relative_height: int
    conf_target: int
    fee_rate_sat_per_kw: int
    initiator: str
    version: AccountVersion
    def __init__(self, account_value: _Optional[int] = ..., absolute_height: _Optional[int] = ..., relative_height: _Optional[int] = ..., conf_target: _Optional[int] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., initiator: _Optional[str] = ..., version: _Optional[_Union[AccountVersion, str]] = ...) -> None: ...

class QuoteAccountRequest(_message.Message):
    __slots__ = ("account_value", "conf_target")
    ACCOUNT_VALUE_FIELD_NUMBER: _ClassVar[int]
    CONF_TARGET_FIELD_NUMBER: _ClassVar[int]
    account_value: int
    conf_target: int
    def __init__(self, account_value: _Optional[int] = ..., conf_target: _Optional[int] = ...) -> None: ...

class QuoteAccountResponse(_message.Message):
    __slots__ = ("miner_fee_rate_sat_per_kw", "miner_fee_total")
    MINER_FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    MINER_FEE_TOTAL_FIELD_NUMBER: _ClassVar[int]
    miner_fee_rate_sat_per_kw: int
    miner_fee_total: int
    def __init__(self, miner_fee_rate_sat_per_kw: _Optional[int] = ..., miner_fee_total: _Optional[int] = ...) -> None: ...

class ListAccountsRequest(_message.Message):
    __slots__ = ("active_only",)
    ACTIVE_ONLY_FIELD_NUMBER: _ClassVar[int]
    active_only: bool
    def __init__(self, active_only: _Optional[bool] = ...) -> None: ...

class ListAccountsResponse(_message.Message):
    __slots__ = ("accounts",)
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    accounts: _containers.RepeatedCompositeFieldContainer[Account]
    def __init__(self, accounts: _Optional[_Iterable[_Union[Account, _Mapping]]] = ...) -> None: ...

class Output(_message.Message):
    __slots__ = ("value_sat", "address")
    VALUE_SAT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    value_sat: int
    address: str
    def __init__(self, value_sat: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class OutputWithFee(_message.Message):
    __slots__ = ("address", "conf_target", "fee_rate_sat_per_kw")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CONF_TARGET_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    address: str
    conf_target: int
    fee_rate_sat_per_kw: int
    def __init__(self, address: _Optional[str] = ..., conf_target: _Optional[int] = ..., fee_rate_sat_per_kw: _Optional[int] = ...) -> None: ...

class OutputsWithImplicitFee(_message.Message):
    __slots__ = ("outputs",)
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    outputs: _containers.RepeatedCompositeFieldContainer[Output]
    def __init__(self, outputs: _Optional[_Iterable[_Union[Output, _Mapping]]] = ...) -> None: ...

class CloseAccountRequest(_message.Message):
    __slots__ = ("trader_key", "output_with_fee", "outputs")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_WITH_FEE_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    output_with_fee: OutputWithFee
    outputs: OutputsWithImplicitFee
    def __init__(self, trader_key: _Optional[bytes] = ..., output_with_fee: _Optional[_Union[OutputWithFee, _Mapping]] = ..., outputs: _Optional[_Union[OutputsWithImplicitFee, _Mapping]] = ...) -> None: ...

class CloseAccountResponse(_message.Message):
    __slots__ = ("close_txid",)
    CLOSE_TXID_FIELD_NUMBER: _ClassVar[int]
    close_txid: bytes
    def __init__(self, close_txid: _Optional[bytes] = ...) -> None: ...

class WithdrawAccountRequest(_message.Message):
    __slots__ = ("trader_key", "outputs", "fee_rate_sat_per_kw", "absolute_expiry", "relative_expiry", "new_version")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    NEW_VERSION_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    outputs: _containers.RepeatedCompositeFieldContainer[Output]
    fee_rate_sat_per_kw: int
    absolute_expiry: int
    relative_expiry: int
    new_version: AccountVersion
    def __init__(self, trader_key: _Optional[bytes] = ..., outputs: _Optional[_Iterable[_Union[Output, _Mapping]]] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., absolute_expiry: _Optional[int] = ..., relative_expiry: _Optional[int] = ..., new_version: _Optional[_Union[AccountVersion, str]] = ...) -> None: ...

class WithdrawAccountResponse(_message.Message):
    __slots__ = ("account", "withdraw_txid")
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_TXID_FIELD_NUMBER: _ClassVar[int]
    account: Account
    withdraw_txid: bytes
    def __init__(self, account: _Optional[_Union[Account, _Mapping]] = ..., withdraw_txid: _Optional[bytes] = ...) -> None: ...

class DepositAccountRequest(_message.Message):
    __slots__ = ("trader_key", "amount_sat", "fee_rate_sat_per_kw", "absolute_expiry", "relative_expiry", "new_version")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_SAT_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    NEW_VERSION_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    amount_sat: int
    fee_rate_sat_per_kw: int
    absolute_expiry: int
    relative_expiry: int
    new_version: AccountVersion
    def __init__(self, trader_key: _Optional[bytes] = ..., amount_sat: _Optional[int] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., absolute_expiry: _Optional[int] = ..., relative_expiry: _Optional[int] = ..., new_version: _Optional[_Union[AccountVersion, str]] = ...) -> None: ...

class DepositAccountResponse(_message.Message):
    __slots__ = ("account", "deposit_txid")
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    DEPOSIT_TXID_FIELD_NUMBER: _ClassVar[int]
    account: Account
    deposit_txid: bytes
    def __init__(self, account: _Optional[_Union[Account, _Mapping]] = ..., deposit_txid: _Optional[bytes] = ...) -> None: ...

class RenewAccountRequest(_message.Message):
    __slots__ = ("account_key", "absolute_expiry", "relative_expiry", "fee_rate_sat_per_kw", "new_version")
    ACCOUNT_KEY_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    NEW_VERSION_FIELD_NUMBER: _ClassVar[int]
    account_key: bytes
    absolute_expiry: int
    relative_expiry: int
    fee_rate_sat_per_kw: int
    new_version: AccountVersion
    def __init__(self, account_key: _Optional[bytes] = ..., absolute_expiry: _Optional[int] = ..., relative_expiry: _Optional[int] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., new_version: _Optional[_Union[AccountVersion, str]] = ...) -> None: ...

class RenewAccountResponse(_message.Message):
    __slots__ = ("account", "renewal_txid")
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    RENEWAL_TXID_FIELD_NUMBER: _ClassVar[int]
    account: Account
    renewal_txid: bytes
    def __init__(self, account: _Optional[_Union[Account, _Mapping]] = ..., renewal_txid: _Optional[bytes] = ...) -> None: ...

class BumpAccountFeeRequest(_message.Message):
    __slots__ = ("trader_key", "fee_rate_sat_per_kw")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    fee_rate_sat_per_kw: int
    def __init__(self, trader_key: _Optional[bytes] = ..., fee_rate_sat_per_kw: _Optional[int] = ...) -> None: ...

class BumpAccountFeeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Account(_message.Message):
    __slots__ = ("trader_key", "outpoint", "value", "available_balance", "expiration_height", "state", "latest_txid", "version")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    OUTPOINT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_BALANCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRATION_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LATEST_TXID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    outpoint: _auctioneer_pb2.OutPoint
    value: int
    available_balance: int
    expiration_height: int
    state: AccountState
    latest_txid: bytes
    version: AccountVersion
    def __init__(self, trader_key: _Optional[bytes] = ..., outpoint: _Optional[_Union[_auctioneer_pb2.OutPoint, _Mapping]] = ..., value: _Optional[int] = ..., available_balance: _Optional[int] = ..., expiration_height: _Optional[int] = ..., state: _Optional[_Union[AccountState, str]] = ..., latest_txid: _Optional[bytes] = ..., version: _Optional[_Union[AccountVersion, str]] = ...) -> None: ...

class SubmitOrderRequest(_message.Message):
    __slots__ = ("ask", "bid", "initiator")
    ASK_FIELD_NUMBER: _ClassVar[int]
    BID_FIELD_NUMBER: _ClassVar[int]
    INITIATOR_FIELD_NUMBER: _ClassVar[int]
    ask: Ask
    bid: Bid
    initiator: str
    def __init__(self, ask: _Optional[_Union[Ask, _Mapping]] = ..., bid: _Optional[_Union[Bid, _Mapping]] = ..., initiator: _Optional[str] = ...) -> None: ...

class SubmitOrderResponse(_message.Message):
    __slots__ = ("invalid_order", "accepted_order_nonce", "updated_sidecar_ticket")
    INVALID_ORDER_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_SIDECAR_TICKET_FIELD_NUMBER: _ClassVar[int]
    invalid_order: _auctioneer_pb2.InvalidOrder
    accepted_order_nonce: bytes
    updated_sidecar_ticket: str
    def __init__(self, invalid_order: _Optional[_Union[_auctioneer_pb2.InvalidOrder, _Mapping]] = ..., accepted_order_nonce: _Optional[bytes] = ..., updated_sidecar_ticket: _Optional[str] = ...) -> None: ...

class ListOrdersRequest(_message.Message):
    __slots__ = ("verbose", "active_only")
    VERBOSE_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_ONLY_FIELD_NUMBER: _ClassVar[int]
    verbose: bool
    active_only: bool
    def __init__(self, verbose: _Optional[bool] = ..., active_only: _Optional[bool] = ...) -> None: ...

class ListOrdersResponse(_message.Message):
    __slots__ = ("asks", "bids")
    ASKS_FIELD_NUMBER: _ClassVar[int]
    BIDS_FIELD_NUMBER: _ClassVar[int]
    asks: _containers.RepeatedCompositeFieldContainer[Ask]
    bids: _containers.RepeatedCompositeFieldContainer[Bid]
    def __init__(self, asks: _Optional[_Iterable[_Union[Ask, _Mapping]]] = ..., bids: _Optional[_Iterable[_Union[Bid, _Mapping]]] = ...) -> None: ...

class CancelOrderRequest(_message.Message):
    __slots__ = ("order_nonce",)
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    order_nonce: bytes
    def __init__(self, order_nonce: _Optional[bytes] = ...) -> None: ...

class CancelOrderResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Order(_message.Message):
    __slots__ = ("trader_key", "rate_fixed", "amt", "max_batch_fee_rate_sat_per_kw", "order_nonce", "state", "units", "units_unfulfilled", "reserved_value_sat", "creation_timestamp_ns", "events", "min_units_match", "channel_type", "allowed_node_ids", "not_allowed_node_ids", "auction_type", "is_public")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    RATE_FIXED_FIELD_NUMBER: _ClassVar[int]
    AMT_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    UNITS_UNFULFILLED_FIELD_NUMBER: _ClassVar[int]
    RESERVED_VALUE_SAT_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    MIN_UNITS_MATCH_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_TYPE_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    NOT_ALLOWED_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    AUCTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    IS_PUBLIC_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    rate_fixed: int
    amt: int
    max_batch_fee_rate_sat_per_kw: int
    order_nonce: bytes
    state: _auctioneer_pb2.OrderState
    units: int
    units_unfulfilled: int
    reserved_value_sat: int
    creation_timestamp_ns: int
    events: _containers.RepeatedCompositeFieldContainer[OrderEvent]
    min_units_match: int
    channel_type: _auctioneer_pb2.OrderChannelType
    allowed_node_ids: _containers.RepeatedScalarFieldContainer[bytes]
    not_allowed_node_ids: _containers.RepeatedScalarFieldContainer[bytes]
    auction_type: _auctioneer_pb2.AuctionType
    is_public: bool
    def __init__(self, trader_key: _Optional[bytes] = ..., rate_fixed: _Optional[int] = ..., amt: _Optional[int] = ..., max_batch_fee_rate_sat_per_kw: _Optional[int] = ..., order_nonce: _Optional[bytes] = ..., state: _Optional[_Union[_auctioneer_pb2.OrderState, str]] = ..., units: _Optional[int] = ..., units_unfulfilled: _Optional[int] = ..., reserved_value_sat: _Optional[int] = ..., creation_timestamp_ns: _Optional[int] = ..., events: _Optional[_Iterable[_Union[OrderEvent, _Mapping]]] = ..., min_units_match: _Optional[int] = ..., channel_type: _Optional[_Union[_auctioneer_pb2.OrderChannelType, str]] = ..., allowed_node_ids: _Optional[_Iterable[bytes]] = ..., not_allowed_node_ids: _Optional[_Iterable[bytes]] = ..., auction_type: _Optional[_Union[_auctioneer_pb2.AuctionType, str]] = ..., is_public: _Optional[bool] = ...) -> None: ...

class Bid(_message.Message):
    __slots__ = ("details", "lease_duration_blocks", "version", "min_node_tier", "self_chan_balance", "sidecar_ticket", "unannounced_channel", "zero_conf_channel")
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MIN_NODE_TIER_FIELD_NUMBER: _ClassVar[int]
    SELF_CHAN_BALANCE_FIELD_NUMBER: _ClassVar[int]
    SIDECAR_TICKET_FIELD_NUMBER: _ClassVar[int]
    UNANNOUNCED_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ZERO_CONF_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    details: Order
    lease_duration_blocks: int
    version: int
    min_node_tier: _auctioneer_pb2.NodeTier
    self_chan_balance: int
    sidecar_ticket: str
    unannounced_channel: bool
    zero_conf_channel: bool
    def __init__(self, details: _Optional[_Union[Order, _Mapping]] = ..., lease_duration_blocks: _Optional[int] = ..., version: _Optional[int] = ..., min_node_tier: _Optional[_Union[_auctioneer_pb2.NodeTier, str]] = ..., self_chan_balance: _Optional[int] = ..., sidecar_ticket: _Optional[str] = ..., unannounced_channel: _Optional[bool] = ..., zero_conf_channel: _Optional[bool] = ...) -> None: ...

class Ask(_message.Message):
    __slots__ = ("details", "lease_duration_blocks", "version", "announcement_constraints", "confirmation_constraints")
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCEMENT_CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    details: Order
    lease_duration_blocks: int
    version: int
    announcement_constraints: _auctioneer_pb2.ChannelAnnouncementConstraints
    confirmation_constraints: _auctioneer_pb2.ChannelConfirmationConstraints
    def __init__(self, details: _Optional[_Union[Order, _Mapping]] = ..., lease_duration_blocks: _Optional[int] = ..., version: _Optional[int] = ..., announcement_constraints: _Optional[_Union[_auctioneer_pb2.ChannelAnnouncementConstraints, str]] = ..., confirmation_constraints: _Optional[_Union[_auctioneer_pb2.ChannelConfirmationConstraints, str]] = ...) -> None: ...

class QuoteOrderRequest(_message.Message):
    __slots__ = ("amt", "rate_fixed", "lease_duration_blocks", "max_batch_fee_rate_sat_per_kw", "min_units_match")
    AMT_FIELD_NUMBER: _ClassVar[int]
    RATE_FIXED_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    MIN_UNITS_MATCH_FIELD_NUMBER: _ClassVar[int]
    amt: int
    rate_fixed: int
    lease_duration_blocks: int
    max_batch_fee_rate_sat_per_kw: int
    min_units_match: int
    def __init__(self, amt: _Optional[int] = ..., rate_fixed: _Optional[int] = ..., lease_duration_blocks: _Optional[int] = ..., max_batch_fee_rate_sat_per_kw: _Optional[int] = ..., min_units_match: _Optional[int] = ...) -> None: ...

class QuoteOrderResponse(_message.Message):
    __slots__ = ("total_premium_sat", "rate_per_block", "rate_percent", "total_execution_fee_sat", "worst_case_chain_fee_sat")
    TOTAL_PREMIUM_SAT_FIELD_NUMBER: _ClassVar[int]
    RATE_PER_BLOCK_FIELD_NUMBER: _ClassVar[int]
    RATE_PERCENT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_EXECUTION_FEE_SAT_FIELD_NUMBER: _ClassVar[int]
    WORST_CASE_CHAIN_FEE_SAT_FIELD_NUMBER: _ClassVar[int]
    total_premium_sat: int
    rate_per_block: float
    rate_percent: float
    total_execution_fee_sat: int
    worst_case_chain_fee_sat: int
    def __init__(self, total_premium_sat: _Optional[int] = ..., rate_per_block: _Optional[float] = ..., rate_percent: _Optional[float] = ..., total_execution_fee_sat: _Optional[int] = ..., worst_case_chain_fee_sat: _Optional[int] = ...) -> None: ...

class OrderEvent(_message.Message):
    __slots__ = ("timestamp_ns", "event_str", "state_change", "matched")
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    EVENT_STR_FIELD_NUMBER: _ClassVar[int]
    STATE_CHANGE_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    timestamp_ns: int
    event_str: str
    state_change: UpdatedEvent
    matched: MatchEvent
    def __init__(self, timestamp_ns: _Optional[int] = ..., event_str: _Optional[str] = ..., state_change: _Optional[_Union[UpdatedEvent, _Mapping]] = ..., matched: _Optional[_Union[MatchEvent, _Mapping]] = ...) -> None: ...

class UpdatedEvent(_message.Message):
    __slots__ = ("previous_state", "new_state", "units_filled")
    PREVIOUS_STATE_FIELD_NUMBER: _ClassVar[int]
    NEW_STATE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FILLED_FIELD_NUMBER: _ClassVar[int]
    previous_state: _auctioneer_pb2.OrderState
    new_state: _auctioneer_pb2.OrderState
    units_filled: int
    def __init__(self, previous_state: _Optional[_Union[_auctioneer_pb2.OrderState, str]] = ..., new_state: _Optional[_Union[_auctioneer_pb2.OrderState, str]] = ..., units_filled: _Optional[int] = ...) -> None: ...

class MatchEvent(_message.Message):
    __slots__ = ("match_state", "units_filled", "matched_order", "reject_reason")
    MATCH_STATE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FILLED_FIELD_NUMBER: _ClassVar[int]
    MATCHED_ORDER_FIELD_NUMBER: _ClassVar[int]
    REJECT_REASON_FIELD_NUMBER: _ClassVar[int]
    match_state: MatchState
    units_filled: int
    matched_order: bytes
    reject_reason: MatchRejectReason
    def __init__(self, match_state: _Optional[_Union[MatchState, str]] = ..., units_filled: _Optional[int] = ..., matched_order: _Optional[bytes] = ..., reject_reason: _Optional[_Union[MatchRejectReason, str]] = ...) -> None: ...

class RecoverAccountsRequest(_message.Message):
    __slots__ = ("full_client", "account_target", "auctioneer_key", "height_hint", "bitcoin_host", "bitcoin_user", "bitcoin_password", "bitcoin_httppostmode", "bitcoin_usetls", "bitcoin_tlspath")
    FULL_CLIENT_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_TARGET_FIELD_NUMBER: _ClassVar[int]
    AUCTIONEER_KEY_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_HINT_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_HOST_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_USER_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_PASSWORD_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_HTTPPOSTMODE_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_USETLS_FIELD_NUMBER: _ClassVar[int]
    BITCOIN_TLSPATH_FIELD_NUMBER: _ClassVar[int]
    full_client: bool
    account_target: int
    auctioneer_key: str
    height_hint: int
    bitcoin_host: str
    bitcoin_user: str
    bitcoin_password: str
    bitcoin_httppostmode: bool
    bitcoin_usetls: bool
    bitcoin_tlspath: str
    def __init__(self, full_client: _Optional[bool] = ..., account_target: _Optional[int] = ..., auctioneer_key: _Optional[str] = ..., height_hint: _Optional[int] = ..., bitcoin_host: _Optional[str] = ..., bitcoin_user: _Optional[str] = ..., bitcoin_password: _Optional[str] = ..., bitcoin_httppostmode: _Optional[bool] = ..., bitcoin_usetls: _Optional[bool] = ..., bitcoin_tlspath: _Optional[str] = ...) -> None: ...

class RecoverAccountsResponse(_message.Message):
    __slots__ = ("num_recovered_accounts",)
    NUM_RECOVERED_ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    num_recovered_accounts: int
    def __init__(self, num_recovered_accounts: _Optional[int] = ...) -> None: ...

class AccountModificationFeesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AccountModificationFee(_message.Message):
    __slots__ = ("action", "txid", "block_height", "timestamp", "output_amount", "fee_null", "fee_value")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TXID_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    FEE_NULL_FIELD_NUMBER: _ClassVar[int]
    FEE_VALUE_FIELD_NUMBER: _ClassVar[int]
    action: str
    txid: str
    block_height: int
    timestamp: int
    output_amount: int
    fee_null: bool
    fee_value: int
    def __init__(self, action: _Optional[str] = ..., txid: _Optional[str] = ..., block_height: _Optional[int] = ..., timestamp: _Optional[int] = ..., output_amount: _Optional[int] = ..., fee_null: _Optional[bool] = ..., fee_value: _Optional[int] = ...) -> None: ...

class ListOfAccountModificationFees(_message.Message):
    __slots__ = ("modification_fees",)
    MODIFICATION_FEES_FIELD_NUMBER: _ClassVar[int]
    modification_fees: _containers.RepeatedCompositeFieldContainer[AccountModificationFee]
    def __init__(self, modification_fees: _Optional[_Iterable[_Union[AccountModificationFee, _Mapping]]] = ...) -> None: ...

class AccountModificationFeesResponse(_message.Message):
    __slots__ = ("accounts",)
    class AccountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ListOfAccountModificationFees
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ListOfAccountModificationFees, _Mapping]] = ...) -> None: ...
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    accounts: _containers.MessageMap[str, ListOfAccountModificationFees]
    def __init__(self, accounts: _Optional[_Mapping[str, ListOfAccountModificationFees]] = ...) -> None: ...

class AuctionFeeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AuctionFeeResponse(_message.Message):
    __slots__ = ("execution_fee",)
    EXECUTION_FEE_FIELD_NUMBER: _ClassVar[int]
    execution_fee: _auctioneer_pb2.ExecutionFee
    def __init__(self, execution_fee: _Optional[_Union[_auctioneer_pb2.ExecutionFee, _Mapping]] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("channel_point", "channel_amt_sat", "channel_duration_blocks", "channel_lease_expiry", "premium_sat", "execution_fee_sat", "chain_fee_sat", "clearing_rate_price", "order_fixed_rate", "order_nonce", "matched_order_nonce", "purchased", "channel_remote_node_key", "channel_node_tier", "self_chan_balance", "sidecar_channel")
    CHANNEL_POINT_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_AMT_SAT_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_LEASE_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    PREMIUM_SAT_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FEE_SAT_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FEE_SAT_FIELD_NUMBER: _ClassVar[int]
    CLEARING_RATE_PRICE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIXED_RATE_FIELD_NUMBER: _ClassVar[int]
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    MATCHED_ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    PURCHASED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_REMOTE_NODE_KEY_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NODE_TIER_FIELD_NUMBER: _ClassVar[int]
    SELF_CHAN_BALANCE_FIELD_NUMBER: _ClassVar[int]
    SIDECAR_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    channel_point: _auctioneer_pb2.OutPoint
    channel_amt_sat: int
    channel_duration_blocks: int
    channel_lease_expiry: int
    premium_sat: int
    execution_fee_sat: int
    chain_fee_sat: int
    clearing_rate_price: int
    order_fixed_rate: int
    order_nonce: bytes
    matched_order_nonce: bytes
    purchased: bool
    channel_remote_node_key: bytes
    channel_node_tier: _auctioneer_pb2.NodeTier
    self_chan_balance: int
    sidecar_channel: bool
    def __init__(self, channel_point: _Optional[_Union[_auctioneer_pb2.OutPoint, _Mapping]] = ..., channel_amt_sat: _Optional[int] = ..., channel_duration_blocks: _Optional[int] = ..., channel_lease_expiry: _Optional[int] = ..., premium_sat: _Optional[int] = ..., execution_fee_sat: _Optional[int] = ..., chain_fee_sat: _Optional[int] = ..., clearing_rate_price: _Optional[int] = ..., order_fixed_rate: _Optional[int] = ..., order_nonce: _Optional[bytes] = ..., matched_order_nonce: _Optional[bytes] = ..., purchased: _Optional[bool] = ..., channel_remote_node_key: _Optional[bytes] = ..., channel_node_tier: _Optional[_Union[_auctioneer_pb2.NodeTier, str]] = ..., self_chan_balance: _Optional[int] = ..., sidecar_channel: _Optional[bool] = ...) -> None: ...

class LeasesRequest(_message.Message):
    __slots__ = ("batch_ids", "accounts")
    BATCH_IDS_FIELD_NUMBER: _ClassVar[int]
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    batch_ids: _containers.RepeatedScalarFieldContainer[bytes]
    accounts: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, batch_ids: _Optional[_Iterable[bytes]] = ..., accounts: _Optional[_Iterable[bytes]] = ...) -> None: ...

class LeasesResponse(_message.Message):
    __slots__ = ("leases", "total_amt_earned_sat", "total_amt_paid_sat")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_AMT_EARNED_SAT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_AMT_PAID_SAT_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    total_amt_earned_sat: int
    total_amt_paid_sat: int
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ..., total_amt_earned_sat: _Optional[int] = ..., total_amt_paid_sat: _Optional[int] = ...) -> None: ...

class TokensRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TokensResponse(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[LsatToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[LsatToken, _Mapping]]] = ...) -> None: ...

class LsatToken(_message.Message):
    __slots__ = ("base_macaroon", "payment_hash", "payment_preimage", "amount_paid_msat", "routing_fee_paid_msat", "time_created", "expired", "storage_name")
    BASE_MACAROON_FIELD_NUMBER: _ClassVar[int]
    PAYMENT_HASH_FIELD_NUMBER: _ClassVar[int]
    PAYMENT_PREIMAGE_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_PAID_MSAT_FIELD_NUMBER: _ClassVar[int]
    ROUTING_FEE_PAID_MSAT_FIELD_NUMBER: _ClassVar[int]
    TIME_CREATED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    STORAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    base_macaroon: bytes
    payment_hash: bytes
    payment_preimage: bytes
    amount_paid_msat: int
    routing_fee_paid_msat: int
    time_created: int
    expired: bool
    storage_name: str
    def __init__(self, base_macaroon: _Optional[bytes] = ..., payment_hash: _Optional[bytes] = ..., payment_preimage: _Optional[bytes] = ..., amount_paid_msat: _Optional[int] = ..., routing_fee_paid_msat: _Optional[int] = ..., time_created: _Optional[int] = ..., expired: _Optional[bool] = ..., storage_name: _Optional[str] = ...) -> None: ...

class LeaseDurationRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeaseDurationResponse(_message.Message):
    __slots__ = ("lease_durations", "lease_duration_buckets")
    class LeaseDurationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: bool
        def __init__(self, key: _Optional[int] = ..., value: _Optional[bool] = ...) -> None: ...
    class LeaseDurationBucketsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: _auctioneer_pb2.DurationBucketState
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[_auctioneer_pb2.DurationBucketState, str]] = ...) -> None: ...
    LEASE_DURATIONS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BUCKETS_FIELD_NUMBER: _ClassVar[int]
    lease_durations: _containers.ScalarMap[int, bool]
    lease_duration_buckets: _containers.ScalarMap[int, _auctioneer_pb2.DurationBucketState]
    def __init__(self, lease_durations: _Optional[_Mapping[int, bool]] = ..., lease_duration_buckets: _Optional[_Mapping[int, _auctioneer_pb2.DurationBucketState]] = ...) -> None: ...

class NextBatchInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NextBatchInfoResponse(_message.Message):
    __slots__ = ("conf_target", "fee_rate_sat_per_kw", "clear_timestamp", "auto_renew_extension_blocks")
    CONF_TARGET_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    CLEAR_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    AUTO_RENEW_EXTENSION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    conf_target: int
    fee_rate_sat_per_kw: int
    clear_timestamp: int
    auto_renew_extension_blocks: int
    def __init__(self, conf_target: _Optional[int] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., clear_timestamp: _Optional[int] = ..., auto_renew_extension_blocks: _Optional[int] = ...) -> None: ...

class NodeRatingRequest(_message.Message):
    __slots__ = ("node_pubkeys",)
    NODE_PUBKEYS_FIELD_NUMBER: _ClassVar[int]
    node_pubkeys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, node_pubkeys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class NodeRatingResponse(_message.Message):
    __slots__ = ("node_ratings",)
    NODE_RATINGS_FIELD_NUMBER: _ClassVar[int]
    node_ratings: _containers.RepeatedCompositeFieldContainer[_auctioneer_pb2.NodeRating]
    def __init__(self, node_ratings: _Optional[_Iterable[_Union[_auctioneer_pb2.NodeRating, _Mapping]]] = ...) -> None: ...

class GetInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetInfoResponse(_message.Message):
    __slots__ = ("version", "accounts_total", "accounts_active", "accounts_active_expired", "accounts_archived", "orders_total", "orders_active", "orders_archived", "current_block_height", "batches_involved", "node_rating", "lsat_tokens", "subscribed_to_auctioneer", "new_nodes_only", "market_info")
    class MarketInfoEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: _auctioneer_pb2.MarketInfo
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[_auctioneer_pb2.MarketInfo, _Mapping]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ACCOUNTS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ACCOUNTS_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    ACCOUNTS_ACTIVE_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    ACCOUNTS_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    ORDERS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    ORDERS_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    ORDERS_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    CURRENT_BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    BATCHES_INVOLVED_FIELD_NUMBER: _ClassVar[int]
    NODE_RATING_FIELD_NUMBER: _ClassVar[int]
    LSAT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBED_TO_AUCTIONEER_FIELD_NUMBER: _ClassVar[int]
    NEW_NODES_ONLY_FIELD_NUMBER: _ClassVar[int]
    MARKET_INFO_FIELD_NUMBER: _ClassVar[int]
    version: str
    accounts_total: int
    accounts_active: int
    accounts_active_expired: int
    accounts_archived: int
    orders_total: int
    orders_active: int
    orders_archived: int
    current_block_height: int
    batches_involved: int
    node_rating: _auctioneer_pb2.NodeRating
    lsat_tokens: int
    subscribed_to_auctioneer: bool
    new_nodes_only: bool
    market_info: _containers.MessageMap[int, _auctioneer_pb2.MarketInfo]
    def __init__(self, version: _Optional[str] = ..., accounts_total: _Optional[int] = ..., accounts_active: _Optional[int] = ..., accounts_active_expired: _Optional[int] = ..., accounts_archived: _Optional[int] = ..., orders_total: _Optional[int] = ..., orders_active: _Optional[int] = ..., orders_archived: _Optional[int] = ..., current_block_height: _Optional[int] = ..., batches_involved: _Optional[int] = ..., node_rating: _Optional[_Union[_auctioneer_pb2.NodeRating, _Mapping]] = ..., lsat_tokens: _Optional[int] = ..., subscribed_to_auctioneer: _Optional[bool] = ..., new_nodes_only: _Optional[bool] = ..., market_info: _Optional[_Mapping[int, _auctioneer_pb2.MarketInfo]] = ...) -> None: ...

class StopDaemonRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopDaemonResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class OfferSidecarRequest(_message.Message):
    __slots__ = ("auto_negotiate", "bid")
    AUTO_NEGOTIATE_FIELD_NUMBER: _ClassVar[int]
    BID_FIELD_NUMBER: _ClassVar[int]
    auto_negotiate: bool
    bid: Bid
    def __init__(self, auto_negotiate: _Optional[bool] = ..., bid: _Optional[_Union[Bid, _Mapping]] = ...) -> None: ...

class SidecarTicket(_message.Message):
    __slots__ = ("ticket",)
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ticket: str
    def __init__(self, ticket: _Optional[str] = ...) -> None: ...

class DecodedSidecarTicket(_message.Message):
    __slots__ = ("id", "version", "state", "offer_capacity", "offer_push_amount", "offer_lease_duration_blocks", "offer_sign_pubkey", "offer_signature", "offer_auto", "recipient_node_pubkey", "recipient_multisig_pubkey", "recipient_multisig_pubkey_index", "order_bid_nonce", "order_signature", "execution_pending_channel_id", "encoded_ticket", "offer_unannounced_channel", "offer_zero_conf_channel")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OFFER_CAPACITY_FIELD_NUMBER: _ClassVar[int]
    OFFER_PUSH_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    OFFER_LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    OFFER_SIGN_PUBKEY_FIELD_NUMBER: _ClassVar[int]
    OFFER_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    OFFER_AUTO_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_NODE_PUBKEY_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_MULTISIG_PUBKEY_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_MULTISIG_PUBKEY_INDEX_FIELD_NUMBER: _ClassVar[int]
    ORDER_BID_NONCE_FIELD_NUMBER: _ClassVar[int]
    ORDER_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_PENDING_CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    ENCODED_TICKET_FIELD_NUMBER: _ClassVar[int]
    OFFER_UNANNOUNCED_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    OFFER_ZERO_CONF_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    version: int
    state: str
    offer_capacity: int
    offer_push_amount: int
    offer_lease_duration_blocks: int
    offer_sign_pubkey: bytes
    offer_signature: bytes
    offer_auto: bool
    recipient_node_pubkey: bytes
    recipient_multisig_pubkey: bytes
    recipient_multisig_pubkey_index: int
    order_bid_nonce: bytes
    order_signature: bytes
    execution_pending_channel_id: bytes
    encoded_ticket: str
    offer_unannounced_channel: bool
    offer_zero_conf_channel: bool
    def __init__(self, id: _Optional[bytes] = ..., version: _Optional[int] = ..., state: _Optional[str] = ..., offer_capacity: _Optional[int] = ..., offer_push_amount: _Optional[int] = ..., offer_lease_duration_blocks: _Optional[int] = ..., offer_sign_pubkey: _Optional[bytes] = ..., offer_signature: _Optional[bytes] = ..., offer_auto: _Optional[bool] = ..., recipient_node_pubkey: _Optional[bytes] = ..., recipient_multisig_pubkey: _Optional[bytes] = ..., recipient_multisig_pubkey_index: _Optional[int] = ..., order_bid_nonce: _Optional[bytes] = ..., order_signature: _Optional[bytes] = ..., execution_pending_channel_id: _Optional[bytes] = ..., encoded_ticket: _Optional[str] = ..., offer_unannounced_channel: _Optional[bool] = ..., offer_zero_conf_channel: _Optional[bool] = ...) -> None: ...

class RegisterSidecarRequest(_message.Message):
    __slots__ = ("ticket", "auto_negotiate")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    AUTO_NEGOTIATE_FIELD_NUMBER: _ClassVar[int]
    ticket: str
    auto_negotiate: bool
    def __init__(self, ticket: _Optional[str] = ..., auto_negotiate: _Optional[bool] = ...) -> None: ...

class ExpectSidecarChannelRequest(_message.Message):
    __slots__ = ("ticket",)
    TICKET_FIELD_NUMBER: _ClassVar[int]
    ticket: str
    def __init__(self, ticket: _Optional[str] = ...) -> None: ...

class ExpectSidecarChannelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSidecarsRequest(_message.Message):
    __slots__ = ("sidecar_id",)
    SIDECAR_ID_FIELD_NUMBER: _ClassVar[int]
    sidecar_id: bytes
    def __init__(self, sidecar_id: _Optional[bytes] = ...) -> None: ...

class ListSidecarsResponse(_message.Message):
    __slots__ = ("tickets",)
    TICKETS_FIELD_NUMBER: _ClassVar[int]
    tickets: _containers.RepeatedCompositeFieldContainer[DecodedSidecarTicket]
    def __init__(self, tickets: _Optional[_Iterable[_Union[DecodedSidecarTicket, _Mapping]]] = ...) -> None: ...

class CancelSidecarRequest(_message.Message):
    __slots__ = ("sidecar_id",)
    SIDECAR_ID_FIELD_NUMBER: _ClassVar[int]
    sidecar_id: bytes
    def __init__(self, sidecar_id: _Optional[bytes] = ...) -> None: ...

class CancelSidecarResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
