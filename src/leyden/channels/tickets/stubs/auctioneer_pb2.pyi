from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ChannelType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TWEAKLESS: _ClassVar[ChannelType]
    ANCHORS: _ClassVar[ChannelType]
    SCRIPT_ENFORCED_LEASE: _ClassVar[ChannelType]
    SIMPLE_TAPROOT: _ClassVar[ChannelType]

class AuctionAccountState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_PENDING_OPEN: _ClassVar[AuctionAccountState]
    STATE_OPEN: _ClassVar[AuctionAccountState]
    STATE_EXPIRED: _ClassVar[AuctionAccountState]
    STATE_PENDING_UPDATE: _ClassVar[AuctionAccountState]
    STATE_CLOSED: _ClassVar[AuctionAccountState]
    STATE_PENDING_BATCH: _ClassVar[AuctionAccountState]
    STATE_EXPIRED_PENDING_UPDATE: _ClassVar[AuctionAccountState]

class OrderChannelType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORDER_CHANNEL_TYPE_UNKNOWN: _ClassVar[OrderChannelType]
    ORDER_CHANNEL_TYPE_PEER_DEPENDENT: _ClassVar[OrderChannelType]
    ORDER_CHANNEL_TYPE_SCRIPT_ENFORCED: _ClassVar[OrderChannelType]
    ORDER_CHANNEL_TYPE_SIMPLE_TAPROOT: _ClassVar[OrderChannelType]

class AuctionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUCTION_TYPE_BTC_INBOUND_LIQUIDITY: _ClassVar[AuctionType]
    AUCTION_TYPE_BTC_OUTBOUND_LIQUIDITY: _ClassVar[AuctionType]

class NodeTier(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIER_DEFAULT: _ClassVar[NodeTier]
    TIER_0: _ClassVar[NodeTier]
    TIER_1: _ClassVar[NodeTier]

class ChannelAnnouncementConstraints(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANNOUNCEMENT_NO_PREFERENCE: _ClassVar[ChannelAnnouncementConstraints]
    ONLY_ANNOUNCED: _ClassVar[ChannelAnnouncementConstraints]
    ONLY_UNANNOUNCED: _ClassVar[ChannelAnnouncementConstraints]

class ChannelConfirmationConstraints(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIRMATION_NO_PREFERENCE: _ClassVar[ChannelConfirmationConstraints]
    ONLY_CONFIRMED: _ClassVar[ChannelConfirmationConstraints]
    ONLY_ZEROCONF: _ClassVar[ChannelConfirmationConstraints]

class OrderState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORDER_SUBMITTED: _ClassVar[OrderState]
    ORDER_CLEARED: _ClassVar[OrderState]
    ORDER_PARTIALLY_FILLED: _ClassVar[OrderState]
    ORDER_EXECUTED: _ClassVar[OrderState]
    ORDER_CANCELED: _ClassVar[OrderState]
    ORDER_EXPIRED: _ClassVar[OrderState]
    ORDER_FAILED: _ClassVar[OrderState]

class DurationBucketState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NO_MARKET: _ClassVar[DurationBucketState]
    MARKET_CLOSED: _ClassVar[DurationBucketState]
    ACCEPTING_ORDERS: _ClassVar[DurationBucketState]
    MARKET_OPEN: _ClassVar[DurationBucketState]
TWEAKLESS: ChannelType
ANCHORS: ChannelType
SCRIPT_ENFORCED_LEASE: ChannelType
SIMPLE_TAPROOT: ChannelType
STATE_PENDING_OPEN: AuctionAccountState
STATE_OPEN: AuctionAccountState
STATE_EXPIRED: AuctionAccountState
STATE_PENDING_UPDATE: AuctionAccountState
STATE_CLOSED: AuctionAccountState
STATE_PENDING_BATCH: AuctionAccountState
STATE_EXPIRED_PENDING_UPDATE: AuctionAccountState
ORDER_CHANNEL_TYPE_UNKNOWN: OrderChannelType
ORDER_CHANNEL_TYPE_PEER_DEPENDENT: OrderChannelType
ORDER_CHANNEL_TYPE_SCRIPT_ENFORCED: OrderChannelType
ORDER_CHANNEL_TYPE_SIMPLE_TAPROOT: OrderChannelType
AUCTION_TYPE_BTC_INBOUND_LIQUIDITY: AuctionType
AUCTION_TYPE_BTC_OUTBOUND_LIQUIDITY: AuctionType
TIER_DEFAULT: NodeTier
TIER_0: NodeTier
TIER_1: NodeTier
ANNOUNCEMENT_NO_PREFERENCE: ChannelAnnouncementConstraints
ONLY_ANNOUNCED: ChannelAnnouncementConstraints
ONLY_UNANNOUNCED: ChannelAnnouncementConstraints
CONFIRMATION_NO_PREFERENCE: ChannelConfirmationConstraints
ONLY_CONFIRMED: ChannelConfirmationConstraints
ONLY_ZEROCONF: ChannelConfirmationConstraints
ORDER_SUBMITTED: OrderState
ORDER_CLEARED: OrderState
ORDER_PARTIALLY_FILLED: OrderState
ORDER_EXECUTED: OrderState
ORDER_CANCELED: OrderState
ORDER_EXPIRED: OrderState
ORDER_FAILED: OrderState
NO_MARKET: DurationBucketState
MARKET_CLOSED: DurationBucketState
ACCEPTING_ORDERS: DurationBucketState
MARKET_OPEN: DurationBucketState

class ReserveAccountRequest(_message.Message):
    __slots__ = ("account_value", "account_expiry", "trader_key", "version")
    ACCOUNT_VALUE_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    account_value: int
    account_expiry: int
    trader_key: bytes
    version: int
    def __init__(self, account_value: _Optional[int] = ..., account_expiry: _Optional[int] = ..., trader_key: _Optional[bytes] = ..., version: _Optional[int] = ...) -> None: ...

class ReserveAccountResponse(_message.Message):
    __slots__ = ("auctioneer_key", "initial_batch_key")
    AUCTIONEER_KEY_FIELD_NUMBER: _ClassVar[int]
    INITIAL_BATCH_KEY_FIELD_NUMBER: _ClassVar[int]
    auctioneer_key: bytes
    initial_batch_key: bytes
    def __init__(self, auctioneer_key: _Optional[bytes] = ..., initial_batch_key: _Optional[bytes] = ...) -> None: ...

class ServerInitAccountRequest(_message.Message):
    __slots__ = ("account_point", "account_script", "account_value", "account_expiry", "trader_key", "user_agent", "version")
    ACCOUNT_POINT_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_SCRIPT_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_VALUE_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    USER_AGENT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    account_point: OutPoint
    account_script: bytes
    account_value: int
    account_expiry: int
    trader_key: bytes
    user_agent: str
    version: int
    def __init__(self, account_point: _Optional[_Union[OutPoint, _Mapping]] = ..., account_script: _Optional[bytes] = ..., account_value: _Optional[int] = ..., account_expiry: _Optional[int] = ..., trader_key: _Optional[bytes] = ..., user_agent: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ServerInitAccountResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServerSubmitOrderRequest(_message.Message):
    __slots__ = ("ask", "bid", "user_agent")
    ASK_FIELD_NUMBER: _ClassVar[int]
    BID_FIELD_NUMBER: _ClassVar[int]
    USER_AGENT_FIELD_NUMBER: _ClassVar[int]
    ask: ServerAsk
    bid: ServerBid
    user_agent: str
    def __init__(self, ask: _Optional[_Union[ServerAsk, _Mapping]] = ..., bid: _Optional[_Union[ServerBid, _Mapping]] = ..., user_agent: _Optional[str] = ...) -> None: ...

class ServerSubmitOrderResponse(_message.Message):
    __slots__ = ("invalid_order", "accepted")
    INVALID_ORDER_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    invalid_order: InvalidOrder
    accepted: bool
    def __init__(self, invalid_order: _Optional[_Union[InvalidOrder, _Mapping]] = ..., accepted: _Optional[bool] = ...) -> None: ...

class ServerCancelOrderRequest(_message.Message):
    __slots__ = ("order_nonce_preimage",)
    ORDER_NONCE_PREIMAGE_FIELD_NUMBER: _ClassVar[int]
    order_nonce_preimage: bytes
    def __init__(self, order_nonce_preimage: _Optional[bytes] = ...) -> None: ...

class ServerCancelOrderResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClientAuctionMessage(_message.Message):
    __slots__ = ("commit", "subscribe", "accept", "reject", "sign", "recover")
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    REJECT_FIELD_NUMBER: _ClassVar[int]
    SIGN_FIELD_NUMBER: _ClassVar[int]
    RECOVER_FIELD_NUMBER: _ClassVar[int]
    commit: AccountCommitment
    subscribe: AccountSubscription
    accept: OrderMatchAccept
    reject: OrderMatchReject
    sign: OrderMatchSign
    recover: AccountRecovery
    def __init__(self, commit: _Optional[_Union[AccountCommitment, _Mapping]] = ..., subscribe: _Optional[_Union[AccountSubscription, _Mapping]] = ..., accept: _Optional[_Union[OrderMatchAccept, _Mapping]] = ..., reject: _Optional[_Union[OrderMatchReject, _Mapping]] = ..., sign: _Optional[_Union[OrderMatchSign, _Mapping]] = ..., recover: _Optional[_Union[AccountRecovery, _Mapping]] = ...) -> None: ...

class AccountCommitment(_message.Message):
    __slots__ = ("commit_hash", "batch_version")
    COMMIT_HASH_FIELD_NUMBER: _ClassVar[int]
    BATCH_VERSION_FIELD_NUMBER: _ClassVar[int]
    commit_hash: bytes
    batch_version: int
    def __init__(self, commit_hash: _Optional[bytes] = ..., batch_version: _Optional[int] = ...) -> None: ...

class AccountSubscription(_message.Message):
    __slots__ = ("trader_key", "commit_nonce", "auth_sig")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    COMMIT_NONCE_FIELD_NUMBER: _ClassVar[int]
    AUTH_SIG_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    commit_nonce: bytes
    auth_sig: bytes
    def __init__(self, trader_key: _Optional[bytes] = ..., commit_nonce: _Optional[bytes] = ..., auth_sig: _Optional[bytes] = ...) -> None: ...

class OrderMatchAccept(_message.Message):
    __slots__ = ("batch_id",)
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    batch_id: bytes
    def __init__(self, batch_id: _Optional[bytes] = ...) -> None: ...

class OrderMatchReject(_message.Message):
    __slots__ = ("batch_id", "reason", "reason_code", "rejected_orders")
    class RejectReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[OrderMatchReject.RejectReason]
        SERVER_MISBEHAVIOR: _ClassVar[OrderMatchReject.RejectReason]
        BATCH_VERSION_MISMATCH: _ClassVar[OrderMatchReject.RejectReason]
        PARTIAL_REJECT: _ClassVar[OrderMatchReject.RejectReason]
    UNKNOWN: OrderMatchReject.RejectReason
    SERVER_MISBEHAVIOR: OrderMatchReject.RejectReason
    BATCH_VERSION_MISMATCH: OrderMatchReject.RejectReason
    PARTIAL_REJECT: OrderMatchReject.RejectReason
    class RejectedOrdersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: OrderReject
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[OrderReject, _Mapping]] = ...) -> None: ...
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    REJECTED_ORDERS_FIELD_NUMBER: _ClassVar[int]
    batch_id: bytes
    reason: str
    reason_code: OrderMatchReject.RejectReason
    rejected_orders: _containers.MessageMap[str, OrderReject]
    def __init__(self, batch_id: _Optional[bytes] = ..., reason: _Optional[str] = ..., reason_code: _Optional[_Union[OrderMatchReject.RejectReason, str]] = ..., rejected_orders: _Optional[_Mapping[str, OrderReject]] = ...) -> None: ...

class OrderReject(_message.Message):
    __slots__ = ("reason", "reason_code")
    class OrderRejectReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DUPLICATE_PEER: _ClassVar[OrderReject.OrderRejectReason]
        CHANNEL_FUNDING_FAILED: _ClassVar[OrderReject.OrderRejectReason]
    DUPLICATE_PEER: OrderReject.OrderRejectReason
    CHANNEL_FUNDING_FAILED: OrderReject.OrderRejectReason
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_CODE_FIELD_NUMBER: _ClassVar[int]
    reason: str
    reason_code: OrderReject.OrderRejectReason
    def __init__(self, reason: _Optional[str] = ..., reason_code: _Optional[_Union[OrderReject.OrderRejectReason, str]] = ...) -> None: ...

class ChannelInfo(_message.Message):
    __slots__ = ("type", "local_node_key", "remote_node_key", "local_payment_base_point", "remote_payment_base_point")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LOCAL_NODE_KEY_FIELD_NUMBER: _ClassVar[int]
    REMOTE_NODE_KEY_FIELD_NUMBER: _ClassVar[int]
    LOCAL_PAYMENT_BASE_POINT_FIELD_NUMBER: _ClassVar[int]
    REMOTE_PAYMENT_BASE_POINT_FIELD_NUMBER: _ClassVar[int]
    type: ChannelType
    local_node_key: bytes
    remote_node_key: bytes
    local_payment_base_point: bytes
    remote_payment_base_point: bytes
    def __init__(self, type: _Optional[_Union[ChannelType, str]] = ..., local_node_key: _Optional[bytes] = ..., remote_node_key: _Optional[bytes] = ..., local_payment_base_point: _Optional[bytes] = ..., remote_payment_base_point: _Optional[bytes] = ...) -> None: ...

class OrderMatchSign(_message.Message):
    __slots__ = ("batch_id", "account_sigs", "channel_infos", "trader_nonces")
    class AccountSigsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    class ChannelInfosEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ChannelInfo
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ChannelInfo, _Mapping]] = ...) -> None: ...
    class TraderNoncesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_SIGS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_INFOS_FIELD_NUMBER: _ClassVar[int]
    TRADER_NONCES_FIELD_NUMBER: _ClassVar[int]
    batch_id: bytes
    account_sigs: _containers.ScalarMap[str, bytes]
    channel_infos: _containers.MessageMap[str, ChannelInfo]
    trader_nonces: _containers.ScalarMap[str, bytes]
    def __init__(self, batch_id: _Optional[bytes] = ..., account_sigs: _Optional[_Mapping[str, bytes]] = ..., channel_infos: _Optional[_Mapping[str, ChannelInfo]] = ..., trader_nonces: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class AccountRecovery(_message.Message):
    __slots__ = ("trader_key",)
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    def __init__(self, trader_key: _Optional[bytes] = ...) -> None: ...

class ServerAuctionMessage(_message.Message):
    __slots__ = ("challenge", "success", "error", "prepare", "sign", "finalize", "account")
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PREPARE_FIELD_NUMBER: _ClassVar[int]
    SIGN_FIELD_NUMBER: _ClassVar[int]
    FINALIZE_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    challenge: ServerChallenge
    success: SubscribeSuccess
    error: SubscribeError
    prepare: OrderMatchPrepare
    sign: OrderMatchSignBegin
    finalize: OrderMatchFinalize
    account: AuctionAccount
    def __init__(self, challenge: _Optional[_Union[ServerChallenge, _Mapping]] = ..., success: _Optional[_Union[SubscribeSuccess, _Mapping]] = ..., error: _Optional[_Union[SubscribeError, _Mapping]] = ..., prepare: _Optional[_Union[OrderMatchPrepare, _Mapping]] = ..., sign: _Optional[_Union[OrderMatchSignBegin, _Mapping]] = ..., finalize: _Optional[_Union[OrderMatchFinalize, _Mapping]] = ..., account: _Optional[_Union[AuctionAccount, _Mapping]] = ...) -> None: ...

class ServerChallenge(_message.Message):
    __slots__ = ("challenge", "commit_hash")
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_HASH_FIELD_NUMBER: _ClassVar[int]
    challenge: bytes
    commit_hash: bytes
    def __init__(self, challenge: _Optional[bytes] = ..., commit_hash: _Optional[bytes] = ...) -> None: ...

class SubscribeSuccess(_message.Message):
    __slots__ = ("trader_key",)
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    def __init__(self, trader_key: _Optional[bytes] = ...) -> None: ...

class MatchedMarket(_message.Message):
    __slots__ = ("matched_orders", "clearing_price_rate")
    class MatchedOrdersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: MatchedOrder
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[MatchedOrder, _Mapping]] = ...) -> None: ...
    MATCHED_ORDERS_FIELD_NUMBER: _ClassVar[int]
    CLEARING_PRICE_RATE_FIELD_NUMBER: _ClassVar[int]
    matched_orders: _containers.MessageMap[str, MatchedOrder]
    clearing_price_rate: int
    def __init__(self, matched_orders: _Optional[_Mapping[str, MatchedOrder]] = ..., clearing_price_rate: _Optional[int] = ...) -> None: ...

class OrderMatchPrepare(_message.Message):
    __slots__ = ("matched_orders", "clearing_price_rate", "charged_accounts", "execution_fee", "batch_transaction", "fee_rate_sat_per_kw", "fee_rebate_sat", "batch_id", "batch_version", "matched_markets", "batch_height_hint")
    class MatchedOrdersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: MatchedOrder
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[MatchedOrder, _Mapping]] = ...) -> None: ...
    class MatchedMarketsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: MatchedMarket
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[MatchedMarket, _Mapping]] = ...) -> None: ...
    MATCHED_ORDERS_FIELD_NUMBER: _ClassVar[int]
    CLEARING_PRICE_RATE_FIELD_NUMBER: _ClassVar[int]
    CHARGED_ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FEE_FIELD_NUMBER: _ClassVar[int]
    BATCH_TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    FEE_REBATE_SAT_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_VERSION_FIELD_NUMBER: _ClassVar[int]
    MATCHED_MARKETS_FIELD_NUMBER: _ClassVar[int]
    BATCH_HEIGHT_HINT_FIELD_NUMBER: _ClassVar[int]
    matched_orders: _containers.MessageMap[str, MatchedOrder]
    clearing_price_rate: int
    charged_accounts: _containers.RepeatedCompositeFieldContainer[AccountDiff]
    execution_fee: ExecutionFee
    batch_transaction: bytes
    fee_rate_sat_per_kw: int
    fee_rebate_sat: int
    batch_id: bytes
    batch_version: int
    matched_markets: _containers.MessageMap[int, MatchedMarket]
    batch_height_hint: int
    def __init__(self, matched_orders: _Optional[_Mapping[str, MatchedOrder]] = ..., clearing_price_rate: _Optional[int] = ..., charged_accounts: _Optional[_Iterable[_Union[AccountDiff, _Mapping]]] = ..., execution_fee: _Optional[_Union[ExecutionFee, _Mapping]] = ..., batch_transaction: _Optional[bytes] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., fee_rebate_sat: _Optional[int] = ..., batch_id: _Optional[bytes] = ..., batch_version: _Optional[int] = ..., matched_markets: _Optional[_Mapping[int, MatchedMarket]] = ..., batch_height_hint: _Optional[int] = ...) -> None: ...

class TxOut(_message.Message):
    __slots__ = ("value", "pk_script")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PK_SCRIPT_FIELD_NUMBER: _ClassVar[int]
    value: int
    pk_script: bytes
    def __init__(self, value: _Optional[int] = ..., pk_script: _Optional[bytes] = ...) -> None: ...

class OrderMatchSignBegin(_message.Message):
    __slots__ = ("batch_id", "server_nonces", "prev_outputs")
    class ServerNoncesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_NONCES_FIELD_NUMBER: _ClassVar[int]
    PREV_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    batch_id: bytes
    server_nonces: _containers.ScalarMap[str, bytes]
    prev_outputs: _containers.RepeatedCompositeFieldContainer[TxOut]
    def __init__(self, batch_id: _Optional[bytes] = ..., server_nonces: _Optional[_Mapping[str, bytes]] = ..., prev_outputs: _Optional[_Iterable[_Union[TxOut, _Mapping]]] = ...) -> None: ...

class OrderMatchFinalize(_message.Message):
    __slots__ = ("batch_id", "batch_txid")
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_TXID_FIELD_NUMBER: _ClassVar[int]
    batch_id: bytes
    batch_txid: bytes
    def __init__(self, batch_id: _Optional[bytes] = ..., batch_txid: _Optional[bytes] = ...) -> None: ...

class SubscribeError(_message.Message):
    __slots__ = ("error", "error_code", "trader_key", "account_reservation")
    class Error(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[SubscribeError.Error]
        SERVER_SHUTDOWN: _ClassVar[SubscribeError.Error]
        ACCOUNT_DOES_NOT_EXIST: _ClassVar[SubscribeError.Error]
        INCOMPLETE_ACCOUNT_RESERVATION: _ClassVar[SubscribeError.Error]
    UNKNOWN: SubscribeError.Error
    SERVER_SHUTDOWN: SubscribeError.Error
    ACCOUNT_DOES_NOT_EXIST: SubscribeError.Error
    INCOMPLETE_ACCOUNT_RESERVATION: SubscribeError.Error
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_RESERVATION_FIELD_NUMBER: _ClassVar[int]
    error: str
    error_code: SubscribeError.Error
    trader_key: bytes
    account_reservation: AuctionAccount
    def __init__(self, error: _Optional[str] = ..., error_code: _Optional[_Union[SubscribeError.Error, str]] = ..., trader_key: _Optional[bytes] = ..., account_reservation: _Optional[_Union[AuctionAccount, _Mapping]] = ...) -> None: ...

class AuctionAccount(_message.Message):
    __slots__ = ("value", "expiry", "trader_key", "auctioneer_key", "batch_key", "state", "height_hint", "outpoint", "latest_tx", "version")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_FIELD_NUMBER: _ClassVar[int]
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    AUCTIONEER_KEY_FIELD_NUMBER: _ClassVar[int]
    BATCH_KEY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_HINT_FIELD_NUMBER: _ClassVar[int]
    OUTPOINT_FIELD_NUMBER: _ClassVar[int]
    LATEST_TX_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    value: int
    expiry: int
    trader_key: bytes
    auctioneer_key: bytes
    batch_key: bytes
    state: AuctionAccountState
    height_hint: int
    outpoint: OutPoint
    latest_tx: bytes
    version: int
    def __init__(self, value: _Optional[int] = ..., expiry: _Optional[int] = ..., trader_key: _Optional[bytes] = ..., auctioneer_key: _Optional[bytes] = ..., batch_key: _Optional[bytes] = ..., state: _Optional[_Union[AuctionAccountState, str]] = ..., height_hint: _Optional[int] = ..., outpoint: _Optional[_Union[OutPoint, _Mapping]] = ..., latest_tx: _Optional[bytes] = ..., version: _Optional[int] = ...) -> None: ...

class MatchedOrder(_message.Message):
    __slots__ = ("matched_bids", "matched_asks")
    MATCHED_BIDS_FIELD_NUMBER: _ClassVar[int]
    MATCHED_ASKS_FIELD_NUMBER: _ClassVar[int]
    matched_bids: _containers.RepeatedCompositeFieldContainer[MatchedBid]
    matched_asks: _containers.RepeatedCompositeFieldContainer[MatchedAsk]
    def __init__(self, matched_bids: _Optional[_Iterable[_Union[MatchedBid, _Mapping]]] = ..., matched_asks: _Optional[_Iterable[_Union[MatchedAsk, _Mapping]]] = ...) -> None: ...

class MatchedAsk(_message.Message):
    __slots__ = ("ask", "units_filled")
    ASK_FIELD_NUMBER: _ClassVar[int]
    UNITS_FILLED_FIELD_NUMBER: _ClassVar[int]
    ask: ServerAsk
    units_filled: int
    def __init__(self, ask: _Optional[_Union[ServerAsk, _Mapping]] = ..., units_filled: _Optional[int] = ...) -> None: ...

class MatchedBid(_message.Message):
    __slots__ = ("bid", "units_filled")
    BID_FIELD_NUMBER: _ClassVar[int]
    UNITS_FILLED_FIELD_NUMBER: _ClassVar[int]
    bid: ServerBid
    units_filled: int
    def __init__(self, bid: _Optional[_Union[ServerBid, _Mapping]] = ..., units_filled: _Optional[int] = ...) -> None: ...

class AccountDiff(_message.Message):
    __slots__ = ("ending_balance", "ending_state", "outpoint_index", "trader_key", "new_expiry", "new_version")
    class AccountState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OUTPUT_RECREATED: _ClassVar[AccountDiff.AccountState]
        OUTPUT_DUST_EXTENDED_OFFCHAIN: _ClassVar[AccountDiff.AccountState]
        OUTPUT_DUST_ADDED_TO_FEES: _ClassVar[AccountDiff.AccountState]
        OUTPUT_FULLY_SPENT: _ClassVar[AccountDiff.AccountState]
    OUTPUT_RECREATED: AccountDiff.AccountState
    OUTPUT_DUST_EXTENDED_OFFCHAIN: AccountDiff.AccountState
    OUTPUT_DUST_ADDED_TO_FEES: AccountDiff.AccountState
    OUTPUT_FULLY_SPENT: AccountDiff.AccountState
    ENDING_BALANCE_FIELD_NUMBER: _ClassVar[int]
    ENDING_STATE_FIELD_NUMBER: _ClassVar[int]
    OUTPOINT_INDEX_FIELD_NUMBER: _ClassVar[int]
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    NEW_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    NEW_VERSION_FIELD_NUMBER: _ClassVar[int]
    ending_balance: int
    ending_state: AccountDiff.AccountState
    outpoint_index: int
    trader_key: bytes
    new_expiry: int
    new_version: int
    def __init__(self, ending_balance: _Optional[int] = ..., ending_state: _Optional[_Union[AccountDiff.AccountState, str]] = ..., outpoint_index: _Optional[int] = ..., trader_key: _Optional[bytes] = ..., new_expiry: _Optional[int] = ..., new_version: _Optional[int] = ...) -> None: ...

class ServerOrder(_message.Message):
    __slots__ = ("trader_key", "rate_fixed", "amt", "min_chan_amt", "order_nonce", "order_sig", "multi_sig_key", "node_pub", "node_addr", "channel_type", "max_batch_fee_rate_sat_per_kw", "allowed_node_ids", "not_allowed_node_ids", "auction_type", "is_public")
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    RATE_FIXED_FIELD_NUMBER: _ClassVar[int]
    AMT_FIELD_NUMBER: _ClassVar[int]
    MIN_CHAN_AMT_FIELD_NUMBER: _ClassVar[int]
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    ORDER_SIG_FIELD_NUMBER: _ClassVar[int]
    MULTI_SIG_KEY_FIELD_NUMBER: _ClassVar[int]
    NODE_PUB_FIELD_NUMBER: _ClassVar[int]
    NODE_ADDR_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_TYPE_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    NOT_ALLOWED_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    AUCTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    IS_PUBLIC_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    rate_fixed: int
    amt: int
    min_chan_amt: int
    order_nonce: bytes
    order_sig: bytes
    multi_sig_key: bytes
    node_pub: bytes
    node_addr: _containers.RepeatedCompositeFieldContainer[NodeAddress]
    channel_type: OrderChannelType
    max_batch_fee_rate_sat_per_kw: int
    allowed_node_ids: _containers.RepeatedScalarFieldContainer[bytes]
    not_allowed_node_ids: _containers.RepeatedScalarFieldContainer[bytes]
    auction_type: AuctionType
    is_public: bool
    def __init__(self, trader_key: _Optional[bytes] = ..., rate_fixed: _Optional[int] = ..., amt: _Optional[int] = ..., min_chan_amt: _Optional[int] = ..., order_nonce: _Optional[bytes] = ..., order_sig: _Optional[bytes] = ..., multi_sig_key: _Optional[bytes] = ..., node_pub: _Optional[bytes] = ..., node_addr: _Optional[_Iterable[_Union[NodeAddress, _Mapping]]] = ..., channel_type: _Optional[_Union[OrderChannelType, str]] = ..., max_batch_fee_rate_sat_per_kw: _Optional[int] = ..., allowed_node_ids: _Optional[_Iterable[bytes]] = ..., not_allowed_node_ids: _Optional[_Iterable[bytes]] = ..., auction_type: _Optional[_Union[AuctionType, str]] = ..., is_public: _Optional[bool] = ...) -> None: ...

class ServerBid(_message.Message):
    __slots__ = ("details", "lease_duration_blocks", "version", "min_node_tier", "self_chan_balance", "is_sidecar_channel", "unannounced_channel", "zero_conf_channel")
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MIN_NODE_TIER_FIELD_NUMBER: _ClassVar[int]
    SELF_CHAN_BALANCE_FIELD_NUMBER: _ClassVar[int]
    IS_SIDECAR_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    UNANNOUNCED_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ZERO_CONF_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    details: ServerOrder
    lease_duration_blocks: int
    version: int
    min_node_tier: NodeTier
    self_chan_balance: int
    is_sidecar_channel: bool
    unannounced_channel: bool
    zero_conf_channel: bool
    def __init__(self, details: _Optional[_Union[ServerOrder, _Mapping]] = ..., lease_duration_blocks: _Optional[int] = ..., version: _Optional[int] = ..., min_node_tier: _Optional[_Union[NodeTier, str]] = ..., self_chan_balance: _Optional[int] = ..., is_sidecar_channel: _Optional[bool] = ..., unannounced_channel: _Optional[bool] = ..., zero_conf_channel: _Optional[bool] = ...) -> None: ...

class ServerAsk(_message.Message):
    __slots__ = ("details", "lease_duration_blocks", "version", "announcement_constraints", "confirmation_constraints")
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCEMENT_CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    details: ServerOrder
    lease_duration_blocks: int
    version: int
    announcement_constraints: ChannelAnnouncementConstraints
    confirmation_constraints: ChannelConfirmationConstraints
    def __init__(self, details: _Optional[_Union[ServerOrder, _Mapping]] = ..., lease_duration_blocks: _Optional[int] = ..., version: _Optional[int] = ..., announcement_constraints: _Optional[_Union[ChannelAnnouncementConstraints, str]] = ..., confirmation_constraints: _Optional[_Union[ChannelConfirmationConstraints, str]] = ...) -> None: ...

class CancelOrder(_message.Message):
    __slots__ = ("order_nonce",)
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    order_nonce: bytes
    def __init__(self, order_nonce: _Optional[bytes] = ...) -> None: ...

class InvalidOrder(_message.Message):
    __slots__ = ("order_nonce", "fail_reason", "fail_string")
    class FailReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        INVALID_AMT: _ClassVar[InvalidOrder.FailReason]
    INVALID_AMT: InvalidOrder.FailReason
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    FAIL_REASON_FIELD_NUMBER: _ClassVar[int]
    FAIL_STRING_FIELD_NUMBER: _ClassVar[int]
    order_nonce: bytes
    fail_reason: InvalidOrder.FailReason
    fail_string: str
    def __init__(self, order_nonce: _Optional[bytes] = ..., fail_reason: _Optional[_Union[InvalidOrder.FailReason, str]] = ..., fail_string: _Optional[str] = ...) -> None: ...

class ServerInput(_message.Message):
    __slots__ = ("outpoint", "sig_script")
    OUTPOINT_FIELD_NUMBER: _ClassVar[int]
    SIG_SCRIPT_FIELD_NUMBER: _ClassVar[int]
    outpoint: OutPoint
    sig_script: bytes
    def __init__(self, outpoint: _Optional[_Union[OutPoint, _Mapping]] = ..., sig_script: _Optional[bytes] = ...) -> None: ...

class ServerOutput(_message.Message):
    __slots__ = ("value", "script")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    value: int
    script: bytes
    def __init__(self, value: _Optional[int] = ..., script: _Optional[bytes] = ...) -> None: ...

class ServerModifyAccountRequest(_message.Message):
    __slots__ = ("trader_key", "new_inputs", "new_outputs", "new_params", "trader_nonces", "prev_outputs")
    class NewAccountParameters(_message.Message):
        __slots__ = ("value", "expiry", "version")
        VALUE_FIELD_NUMBER: _ClassVar[int]
        EXPIRY_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        value: int
        expiry: int
        version: int
        def __init__(self, value: _Optional[int] = ..., expiry: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...
    TRADER_KEY_FIELD_NUMBER: _ClassVar[int]
    NEW_INPUTS_FIELD_NUMBER: _ClassVar[int]
    NEW_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    NEW_PARAMS_FIELD_NUMBER: _ClassVar[int]
    TRADER_NONCES_FIELD_NUMBER: _ClassVar[int]
    PREV_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    trader_key: bytes
    new_inputs: _containers.RepeatedCompositeFieldContainer[ServerInput]
    new_outputs: _containers.RepeatedCompositeFieldContainer[ServerOutput]
    new_params: ServerModifyAccountRequest.NewAccountParameters
    trader_nonces: bytes
    prev_outputs: _containers.RepeatedCompositeFieldContainer[TxOut]
    def __init__(self, trader_key: _Optional[bytes] = ..., new_inputs: _Optional[_Iterable[_Union[ServerInput, _Mapping]]] = ..., new_outputs: _Optional[_Iterable[_Union[ServerOutput, _Mapping]]] = ..., new_params: _Optional[_Union[ServerModifyAccountRequest.NewAccountParameters, _Mapping]] = ..., trader_nonces: _Optional[bytes] = ..., prev_outputs: _Optional[_Iterable[_Union[TxOut, _Mapping]]] = ...) -> None: ...

class ServerModifyAccountResponse(_message.Message):
    __slots__ = ("account_sig", "server_nonces")
    ACCOUNT_SIG_FIELD_NUMBER: _ClassVar[int]
    SERVER_NONCES_FIELD_NUMBER: _ClassVar[int]
    account_sig: bytes
    server_nonces: bytes
    def __init__(self, account_sig: _Optional[bytes] = ..., server_nonces: _Optional[bytes] = ...) -> None: ...

class ServerOrderStateRequest(_message.Message):
    __slots__ = ("order_nonce",)
    ORDER_NONCE_FIELD_NUMBER: _ClassVar[int]
    order_nonce: bytes
    def __init__(self, order_nonce: _Optional[bytes] = ...) -> None: ...

class ServerOrderStateResponse(_message.Message):
    __slots__ = ("state", "units_unfulfilled")
    STATE_FIELD_NUMBER: _ClassVar[int]
    UNITS_UNFULFILLED_FIELD_NUMBER: _ClassVar[int]
    state: OrderState
    units_unfulfilled: int
    def __init__(self, state: _Optional[_Union[OrderState, str]] = ..., units_unfulfilled: _Optional[int] = ...) -> None: ...

class TermsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TermsResponse(_message.Message):
    __slots__ = ("max_account_value", "max_order_duration_blocks", "execution_fee", "lease_durations", "next_batch_conf_target", "next_batch_fee_rate_sat_per_kw", "next_batch_clear_timestamp", "lease_duration_buckets", "auto_renew_extension_blocks")
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
        value: DurationBucketState
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[DurationBucketState, str]] = ...) -> None: ...
    MAX_ACCOUNT_VALUE_FIELD_NUMBER: _ClassVar[int]
    MAX_ORDER_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FEE_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_BATCH_CONF_TARGET_FIELD_NUMBER: _ClassVar[int]
    NEXT_BATCH_FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    NEXT_BATCH_CLEAR_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BUCKETS_FIELD_NUMBER: _ClassVar[int]
    AUTO_RENEW_EXTENSION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    max_account_value: int
    max_order_duration_blocks: int
    execution_fee: ExecutionFee
    lease_durations: _containers.ScalarMap[int, bool]
    next_batch_conf_target: int
    next_batch_fee_rate_sat_per_kw: int
    next_batch_clear_timestamp: int
    lease_duration_buckets: _containers.ScalarMap[int, DurationBucketState]
    auto_renew_extension_blocks: int
    def __init__(self, max_account_value: _Optional[int] = ..., max_order_duration_blocks: _Optional[int] = ..., execution_fee: _Optional[_Union[ExecutionFee, _Mapping]] = ..., lease_durations: _Optional[_Mapping[int, bool]] = ..., next_batch_conf_target: _Optional[int] = ..., next_batch_fee_rate_sat_per_kw: _Optional[int] = ..., next_batch_clear_timestamp: _Optional[int] = ..., lease_duration_buckets: _Optional[_Mapping[int, DurationBucketState]] = ..., auto_renew_extension_blocks: _Optional[int] = ...) -> None: ...

class RelevantBatchRequest(_message.Message):
    __slots__ = ("id", "accounts")
    ID_FIELD_NUMBER: _ClassVar[int]
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    accounts: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, id: _Optional[bytes] = ..., accounts: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RelevantBatch(_message.Message):
    __slots__ = ("version", "id", "charged_accounts", "matched_orders", "clearing_price_rate", "execution_fee", "transaction", "fee_rate_sat_per_kw", "creation_timestamp_ns", "matched_markets")
    class MatchedOrdersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: MatchedOrder
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[MatchedOrder, _Mapping]] = ...) -> None: ...
    class MatchedMarketsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: MatchedMarket
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[MatchedMarket, _Mapping]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    CHARGED_ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    MATCHED_ORDERS_FIELD_NUMBER: _ClassVar[int]
    CLEARING_PRICE_RATE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FEE_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    MATCHED_MARKETS_FIELD_NUMBER: _ClassVar[int]
    version: int
    id: bytes
    charged_accounts: _containers.RepeatedCompositeFieldContainer[AccountDiff]
    matched_orders: _containers.MessageMap[str, MatchedOrder]
    clearing_price_rate: int
    execution_fee: ExecutionFee
    transaction: bytes
    fee_rate_sat_per_kw: int
    creation_timestamp_ns: int
    matched_markets: _containers.MessageMap[int, MatchedMarket]
    def __init__(self, version: _Optional[int] = ..., id: _Optional[bytes] = ..., charged_accounts: _Optional[_Iterable[_Union[AccountDiff, _Mapping]]] = ..., matched_orders: _Optional[_Mapping[str, MatchedOrder]] = ..., clearing_price_rate: _Optional[int] = ..., execution_fee: _Optional[_Union[ExecutionFee, _Mapping]] = ..., transaction: _Optional[bytes] = ..., fee_rate_sat_per_kw: _Optional[int] = ..., creation_timestamp_ns: _Optional[int] = ..., matched_markets: _Optional[_Mapping[int, MatchedMarket]] = ...) -> None: ...

class ExecutionFee(_message.Message):
    __slots__ = ("base_fee", "fee_rate")
    BASE_FEE_FIELD_NUMBER: _ClassVar[int]
    FEE_RATE_FIELD_NUMBER: _ClassVar[int]
    base_fee: int
    fee_rate: int
    def __init__(self, base_fee: _Optional[int] = ..., fee_rate: _Optional[int] = ...) -> None: ...

class NodeAddress(_message.Message):
    __slots__ = ("network", "addr")
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    ADDR_FIELD_NUMBER: _ClassVar[int]
    network: str
    addr: str
    def __init__(self, network: _Optional[str] = ..., addr: _Optional[str] = ...) -> None: ...

class OutPoint(_message.Message):
    __slots__ = ("txid", "output_index")
    TXID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_INDEX_FIELD_NUMBER: _ClassVar[int]
    txid: bytes
    output_index: int
    def __init__(self, txid: _Optional[bytes] = ..., output_index: _Optional[int] = ...) -> None: ...

class AskSnapshot(_message.Message):
    __slots__ = ("version", "lease_duration_blocks", "rate_fixed", "chan_type")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    RATE_FIXED_FIELD_NUMBER: _ClassVar[int]
    CHAN_TYPE_FIELD_NUMBER: _ClassVar[int]
    version: int
    lease_duration_blocks: int
    rate_fixed: int
    chan_type: OrderChannelType
    def __init__(self, version: _Optional[int] = ..., lease_duration_blocks: _Optional[int] = ..., rate_fixed: _Optional[int] = ..., chan_type: _Optional[_Union[OrderChannelType, str]] = ...) -> None: ...

class BidSnapshot(_message.Message):
    __slots__ = ("version", "lease_duration_blocks", "rate_fixed", "chan_type")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    RATE_FIXED_FIELD_NUMBER: _ClassVar[int]
    CHAN_TYPE_FIELD_NUMBER: _ClassVar[int]
    version: int
    lease_duration_blocks: int
    rate_fixed: int
    chan_type: OrderChannelType
    def __init__(self, version: _Optional[int] = ..., lease_duration_blocks: _Optional[int] = ..., rate_fixed: _Optional[int] = ..., chan_type: _Optional[_Union[OrderChannelType, str]] = ...) -> None: ...

class MatchedOrderSnapshot(_message.Message):
    __slots__ = ("ask", "bid", "matching_rate", "total_sats_cleared", "units_matched")
    ASK_FIELD_NUMBER: _ClassVar[int]
    BID_FIELD_NUMBER: _ClassVar[int]
    MATCHING_RATE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SATS_CLEARED_FIELD_NUMBER: _ClassVar[int]
    UNITS_MATCHED_FIELD_NUMBER: _ClassVar[int]
    ask: AskSnapshot
    bid: BidSnapshot
    matching_rate: int
    total_sats_cleared: int
    units_matched: int
    def __init__(self, ask: _Optional[_Union[AskSnapshot, _Mapping]] = ..., bid: _Optional[_Union[BidSnapshot, _Mapping]] = ..., matching_rate: _Optional[int] = ..., total_sats_cleared: _Optional[int] = ..., units_matched: _Optional[int] = ...) -> None: ...

class BatchSnapshotRequest(_message.Message):
    __slots__ = ("batch_id",)
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    batch_id: bytes
    def __init__(self, batch_id: _Optional[bytes] = ...) -> None: ...

class MatchedMarketSnapshot(_message.Message):
    __slots__ = ("matched_orders", "clearing_price_rate")
    MATCHED_ORDERS_FIELD_NUMBER: _ClassVar[int]
    CLEARING_PRICE_RATE_FIELD_NUMBER: _ClassVar[int]
    matched_orders: _containers.RepeatedCompositeFieldContainer[MatchedOrderSnapshot]
    clearing_price_rate: int
    def __init__(self, matched_orders: _Optional[_Iterable[_Union[MatchedOrderSnapshot, _Mapping]]] = ..., clearing_price_rate: _Optional[int] = ...) -> None: ...

class BatchSnapshotResponse(_message.Message):
    __slots__ = ("version", "batch_id", "prev_batch_id", "clearing_price_rate", "matched_orders", "batch_tx_id", "batch_tx", "batch_tx_fee_rate_sat_per_kw", "creation_timestamp_ns", "matched_markets")
    class MatchedMarketsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: MatchedMarketSnapshot
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[MatchedMarketSnapshot, _Mapping]] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    PREV_BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    CLEARING_PRICE_RATE_FIELD_NUMBER: _ClassVar[int]
    MATCHED_ORDERS_FIELD_NUMBER: _ClassVar[int]
    BATCH_TX_ID_FIELD_NUMBER: _ClassVar[int]
    BATCH_TX_FIELD_NUMBER: _ClassVar[int]
    BATCH_TX_FEE_RATE_SAT_PER_KW_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    MATCHED_MARKETS_FIELD_NUMBER: _ClassVar[int]
    version: int
    batch_id: bytes
    prev_batch_id: bytes
    clearing_price_rate: int
    matched_orders: _containers.RepeatedCompositeFieldContainer[MatchedOrderSnapshot]
    batch_tx_id: str
    batch_tx: bytes
    batch_tx_fee_rate_sat_per_kw: int
    creation_timestamp_ns: int
    matched_markets: _containers.MessageMap[int, MatchedMarketSnapshot]
    def __init__(self, version: _Optional[int] = ..., batch_id: _Optional[bytes] = ..., prev_batch_id: _Optional[bytes] = ..., clearing_price_rate: _Optional[int] = ..., matched_orders: _Optional[_Iterable[_Union[MatchedOrderSnapshot, _Mapping]]] = ..., batch_tx_id: _Optional[str] = ..., batch_tx: _Optional[bytes] = ..., batch_tx_fee_rate_sat_per_kw: _Optional[int] = ..., creation_timestamp_ns: _Optional[int] = ..., matched_markets: _Optional[_Mapping[int, MatchedMarketSnapshot]] = ...) -> None: ...

class ServerNodeRatingRequest(_message.Message):
    __slots__ = ("node_pubkeys",)
    NODE_PUBKEYS_FIELD_NUMBER: _ClassVar[int]
    node_pubkeys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, node_pubkeys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class NodeRating(_message.Message):
    __slots__ = ("node_pubkey", "node_tier")
    NODE_PUBKEY_FIELD_NUMBER: _ClassVar[int]
    NODE_TIER_FIELD_NUMBER: _ClassVar[int]
    node_pubkey: bytes
    node_tier: NodeTier
    def __init__(self, node_pubkey: _Optional[bytes] = ..., node_tier: _Optional[_Union[NodeTier, str]] = ...) -> None: ...

class ServerNodeRatingResponse(_message.Message):
    __slots__ = ("node_ratings",)
    NODE_RATINGS_FIELD_NUMBER: _ClassVar[int]
    node_ratings: _containers.RepeatedCompositeFieldContainer[NodeRating]
    def __init__(self, node_ratings: _Optional[_Iterable[_Union[NodeRating, _Mapping]]] = ...) -> None: ...

class BatchSnapshotsRequest(_message.Message):
    __slots__ = ("start_batch_id", "num_batches_back")
    START_BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    NUM_BATCHES_BACK_FIELD_NUMBER: _ClassVar[int]
    start_batch_id: bytes
    num_batches_back: int
    def __init__(self, start_batch_id: _Optional[bytes] = ..., num_batches_back: _Optional[int] = ...) -> None: ...

class BatchSnapshotsResponse(_message.Message):
    __slots__ = ("batches",)
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    batches: _containers.RepeatedCompositeFieldContainer[BatchSnapshotResponse]
    def __init__(self, batches: _Optional[_Iterable[_Union[BatchSnapshotResponse, _Mapping]]] = ...) -> None: ...

class MarketInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MarketInfo(_message.Message):
    __slots__ = ("num_asks", "num_bids", "ask_open_interest_units", "bid_open_interest_units")
    class TierValue(_message.Message):
        __slots__ = ("tier", "value")
        TIER_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        tier: NodeTier
        value: int
        def __init__(self, tier: _Optional[_Union[NodeTier, str]] = ..., value: _Optional[int] = ...) -> None: ...
    NUM_ASKS_FIELD_NUMBER: _ClassVar[int]
    NUM_BIDS_FIELD_NUMBER: _ClassVar[int]
    ASK_OPEN_INTEREST_UNITS_FIELD_NUMBER: _ClassVar[int]
    BID_OPEN_INTEREST_UNITS_FIELD_NUMBER: _ClassVar[int]
    num_asks: _containers.RepeatedCompositeFieldContainer[MarketInfo.TierValue]
    num_bids: _containers.RepeatedCompositeFieldContainer[MarketInfo.TierValue]
    ask_open_interest_units: _containers.RepeatedCompositeFieldContainer[MarketInfo.TierValue]
    bid_open_interest_units: _containers.RepeatedCompositeFieldContainer[MarketInfo.TierValue]
    def __init__(self, num_asks: _Optional[_Iterable[_Union[MarketInfo.TierValue, _Mapping]]] = ..., num_bids: _Optional[_Iterable[_Union[MarketInfo.TierValue, _Mapping]]] = ..., ask_open_interest_units: _Optional[_Iterable[_Union[MarketInfo.TierValue, _Mapping]]] = ..., bid_open_interest_units: _Optional[_Iterable[_Union[MarketInfo.TierValue, _Mapping]]] = ...) -> None: ...

class MarketInfoResponse(_message.Message):
    __slots__ = ("markets",)
    class MarketsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: MarketInfo
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[MarketInfo, _Mapping]] = ...) -> None: ...
    MARKETS_FIELD_NUMBER: _ClassVar[int]
    markets: _containers.MessageMap[int, MarketInfo]
    def __init__(self, markets: _Optional[_Mapping[int, MarketInfo]] = ...) -> None: ...
