//! LDK Node as a buyer of channels over LSPS1: a line of stdin is a command, and each
//! answer is a line of stdout.

use std::io::BufRead;
use std::str::FromStr;
use std::sync::Arc;

use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::bitcoin::Network;
use ldk_node::config::Config;
use ldk_node::lightning::ln::msgs::SocketAddress;
use ldk_node::lightning_invoice::{Bolt11Invoice, Bolt11InvoiceDescription, Description};
use ldk_node::lightning_liquidity::lsps1::msgs::LSPS1OrderId;
use ldk_node::{Builder, Event, Node};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rpc, lsp, at] = given.as_slice() else {
        panic!("FOLDER RPC-PORT LSP-KEY LSP-ADDRESS");
    };
    let config = Config {
        network: Network::Regtest,
        storage_dir_path: folder.clone(),
        ..Config::default()
    };
    let mut builder = Builder::from_config(config);
    let port = rpc.parse().unwrap();
    builder.set_chain_source_bitcoind_rpc("127.0.0.1".into(), port, "x".into(), "x".into());
    builder.set_filesystem_logger(Some(format!("{folder}/ldk.log")), None);
    builder.set_liquidity_source_lsps1(key(lsp), address(at), None);
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
        println!("{} {}", words[0], answer(&node, &words));
    }
    node.stop().unwrap();
}

fn answer(node: &Node, words: &[&str]) -> String {
    match words {
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
            let what = Description::new("over the bought channel".into()).unwrap();
            let what = Bolt11InvoiceDescription::Direct(what);
            let invoice = node.bolt11_payment().receive(msat.parse().unwrap(), &what, 3600);
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
        _ => "other",
    }
}

fn key(text: &str) -> PublicKey {
    PublicKey::from_str(text).unwrap()
}

fn address(text: &str) -> SocketAddress {
    SocketAddress::from_str(text).unwrap()
}
