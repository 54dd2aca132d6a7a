//! LDK Node as a buyer of channels over LSPS1 or LSPS2: a line of stdin is a command, and
//! each answer is a line of stdout.

use std::io::BufRead;
use std::str::FromStr;
use std::sync::Arc;

use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::bitcoin::Network;
use ldk_node::config::Config;
use ldk_node::lightning::ln::msgs::SocketAddress;
use ldk_node::lightning::types::payment::{PaymentHash, PaymentPreimage};
use ldk_node::lightning_invoice::{Bolt11Invoice, Bolt11InvoiceDescription, Description};
use ldk_node::lightning_liquidity::lsps1::msgs::LSPS1OrderId;
use ldk_node::{Builder, Event, Node, NodeError};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rpc, lsp, at, source] = given.as_slice() else {
        panic!("FOLDER RPC-PORT LSP-KEY LSP-ADDRESS lsps1|lsps2|lsps2-with-reserve");
    };
    let mut config = Config {
        network: Network::Regtest,
        storage_dir_path: folder.clone(),
        ..Config::default()
    };
    if source == "lsps2" {
        let anchors = config.anchor_channels_config.as_mut().unwrap();
        anchors.trusted_peers_no_reserve.push(key(lsp));
    }
    let mut builder = Builder::from_config(config);
    let port = rpc.parse().unwrap();
    builder.set_chain_source_bitcoind_rpc("127.0.0.1".into(), port, "x".into(), "x".into());
    builder.set_filesystem_logger(Some(format!("{folder}/ldk.log")), None);
    if source == "lsps1" {
        builder.set_liquidity_source_lsps1(key(lsp), address(at), None);
    } else {
        builder.set_liquidity_source_lsps2(key(lsp), address(at), None);
    }
    let node = Arc::new(builder.build().unwrap());
    node.start().unwrap();
    println!("ready {}", node.node_id());
    let events = Arc::clone(&node);
    std::thread::spawn(move || loop {
        println!("event {}", name(&events.wait_next_event()));
        let _ = events.event_handled();
    });
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        println!("{} {}", words[0], answer(&node, &words, (lsp.as_str(), at.as_str())));
    }
    node.stop().unwrap();
}

fn answer(node: &Node, words: &[&str], lsp: (&str, &str)) -> String {
    match words {
        ["connect"] => format!("{:?}", node.connect(key(lsp.0), address(lsp.1), true).is_ok()),
        ["disconnect"] => format!("{:?}", node.disconnect(key(lsp.0)).is_ok()),
        // Invoices that open a channel; with a hash, the payment waits for `claim`.
        ["jit", msat] => {
            let msat = msat.parse().unwrap();
            shown(node.bolt11_payment().receive_via_jit_channel(msat, &text(), 3600, None))
        }
        ["jit", msat, hash] => {
            let (msat, hash) = (msat.parse().unwrap(), PaymentHash(bytes(hash)));
            let payment = node.bolt11_payment();
            shown(payment.receive_via_jit_channel_for_hash(msat, &text(), 3600, None, hash))
        }
        ["claim", hash, preimage, msat] => {
            let (hash, preimage) = (PaymentHash(bytes(hash)), PaymentPreimage(bytes(preimage)));
            let claimed = node.bolt11_payment().claim_for_hash(hash, msat.parse().unwrap(), preimage);
            format!("{:?}", claimed.is_ok())
        }
        ["fail", hash] => {
            format!("{:?}", node.bolt11_payment().fail_for_hash(PaymentHash(bytes(hash))).is_ok())
        }
        ["address"] => node.onchain_payment().new_address().unwrap().to_string(),
        ["sync"] => {
            node.sync_wallets().unwrap();
            node.list_balances().spendable_onchain_balance_sats.to_string()
        }
        ["open", peer, at, sats] => {
            let opened = node.open_channel(key(peer), address(at), sats.parse().unwrap(), None, None);
            format!("{:?}", opened.is_ok())
        }
        ["order", sats, blocks] => {
            let (sats, blocks) = (sats.parse().unwrap(), blocks.parse().unwrap());
            match node.lsps1_liquidity().request_channel(sats, 0, blocks, false) {
                Ok(order) => {
                    let invoice = order.payment_options.bolt11.unwrap().invoice;
                    format!("{} {}", order.order_id.0, invoice)
                }
                Err(error) => format!("refused {error:?}"),
            }
        }
        ["status", id] => {
            let id = LSPS1OrderId((*id).into());
            match node.lsps1_liquidity().check_order_status(id) {
                Ok(order) => format!(
                    "{:?} {}",
                    order.payment_options.bolt11.unwrap().state,
                    order.channel_state.is_some()
                ),
                Err(error) => format!("refused {error:?}"),
            }
        }
        ["pay", invoice] => {
            let invoice = Bolt11Invoice::from_str(invoice).unwrap();
            format!("{:?}", node.bolt11_payment().send(&invoice, None).is_ok())
        }
        ["receive", msat] => {
            let invoice = node.bolt11_payment().receive(msat.parse().unwrap(), &text(), 3600);
            invoice.unwrap().to_string()
        }
        ["usable", sats] => {
            let sats: u64 = sats.parse().unwrap();
            let channels = node.list_channels();
            let found = channels.iter().find(|each| each.channel_value_sats == sats);
            match found {
                Some(each) => format!("{} {:?}", each.is_usable, each.confirmations),
                None => "none".into(),
            }
        }
        _ => panic!("there is no such command"),
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::ChannelReady { .. } => "channel_ready",
        Event::PaymentSuccessful { .. } => "payment_successful",
        Event::PaymentFailed { .. } => "payment_failed",
        Event::PaymentReceived { .. } => "payment_received",
        Event::PaymentClaimable { .. } => "payment_claimable",
        _ => "other",
    }
}

fn shown(invoice: Result<Bolt11Invoice, NodeError>) -> String {
    match invoice {
        Ok(invoice) => invoice.to_string(),
        Err(error) => format!("refused {error:?}"),
    }
}

fn text() -> Bolt11InvoiceDescription {
    Bolt11InvoiceDescription::Direct(Description::new("over the bought channel".into()).unwrap())
}

fn bytes(hex: &str) -> [u8; 32] {
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

fn key(text: &str) -> PublicKey {
    PublicKey::from_str(text).unwrap()
}

fn address(text: &str) -> SocketAddress {
    SocketAddress::from_str(text).unwrap()
}
