//! The status page of `evenkeel run`.

use std::net::SocketAddr;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::telemetry::status::{self, Board};
use crate::telemetry::{Health, connections};
use crate::view::status::facts::InstanceInfo;

/// The address of the status page.
#[derive(Clone, Copy, Debug)]
pub(super) enum StatusAddress {
    Disabled,
    At(SocketAddr),
}

pub(super) fn status_address(text: &str) -> Result<StatusAddress, String> {
    match text {
        "none" | "off" => Ok(StatusAddress::Disabled),
        text => text
            .parse()
            .map(StatusAddress::At)
            .map_err(|_| "expected an address such as 127.0.0.1:8081, or none".to_owned()),
    }
}

/// Serves the status page. Rebalancing matters more than the page, so a failure is only a warning.
pub(super) async fn serve_status(
    address: SocketAddr,
    about: InstanceInfo,
    health: &Health,
    stop: &CancellationToken,
) -> Board {
    let listener = match connections::listen(address).await {
        Ok(listener) => listener,
        Err(error) => {
            warn!(
                "status page disabled: cannot bind {address}: {error}; \
                 --status-listen sets another address, or none"
            );
            return Board::default();
        }
    };
    let board = Board::new(about);
    info!("status page at http://{address}/");
    let page = status::serve(listener, board.clone(), health.clone(), stop.clone());
    tokio::spawn(page);
    board
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::cluster::clock;

    #[test]
    fn the_status_page_has_an_address_or_none() {
        assert!(matches!(status_address("[::1]:8081"), Ok(StatusAddress::At(_))));
        assert!(matches!(
            (status_address("none"), status_address("off")),
            (Ok(StatusAddress::Disabled), Ok(StatusAddress::Disabled))
        ));
        assert_eq!(
            status_address("8081").unwrap_err(),
            "expected an address such as 127.0.0.1:8081, or none"
        );
    }

    #[tokio::test]
    async fn an_address_in_use_disables_the_status_page_and_nothing_else() {
        let (health, stop) = (Health::default(), CancellationToken::new());
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let json = async |address: SocketAddr| {
            serve_status(address, InstanceInfo::default(), &health, &stop)
                .await
                .json(&health, clock::now())
        };
        assert_eq!(json(taken.local_addr().unwrap()).await, None);
        // A port that was free a moment ago may be taken by another test.
        assert!(json("127.0.0.1:0".parse().unwrap()).await.is_some());
        stop.cancel();
    }
}
