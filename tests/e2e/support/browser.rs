//! A headless browser, controlled by the DevTools protocol over pipes. It needs no port and
//! no other crate.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::wait::{eventually, that};

/// Chromium reads commands from descriptor 3 and answers on 4.
const START: &str = "exec chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
    --no-first-run \
    --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null \
    2>/dev/null";

/// A browser with one tab.
pub struct Browser {
    child: Child,
    to: RefCell<ChildStdin>,
    from: RefCell<BufReader<ChildStdout>>,
    next: Cell<u64>,
    session: RefCell<Option<String>>,
    /// Messages that answer no command.
    events: RefCell<Vec<Value>>,
}

impl Browser {
    /// Starts it, with its files in this folder.
    pub fn start(files: &Path) -> Self {
        let mut command = Command::new("bash");
        command
            .args(["-c", START])
            .arg(files.join("browser"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let browser = Browser {
            child,
            to: RefCell::new(to),
            from: RefCell::new(from),
            next: Cell::new(1),
            session: RefCell::default(),
            events: RefCell::default(),
        };
        let tab = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let session = browser
            .call("Target.attachToTarget", &json!({"targetId": tab["targetId"], "flatten": true}));
        *browser.session.borrow_mut() = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Runs one command and returns its result.
    pub fn call(&self, method: &str, parameters: &Value) -> Value {
        let id = self.next.replace(self.next.get() + 1);
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &*self.session.borrow() {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.borrow_mut().write_all(&bytes).unwrap();
        loop {
            let mut said = Vec::new();
            self.from.borrow_mut().read_until(0, &mut said).unwrap();
            assert_eq!(said.pop(), Some(0), "chromium has ended: is it installed?");
            let said: Value = serde_json::from_slice(&said).unwrap();
            if said["id"] != id {
                self.events.borrow_mut().push(said);
                continue;
            }
            assert!(said["error"].is_null(), "{method}: {said}");
            return said["result"].clone();
        }
    }

    /// Opens a page and waits until it is loaded.
    pub async fn visit(&self, url: &str) {
        let gone = self.call("Page.navigate", &json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        eventually("the page", 30, async || {
            let seen = self.eval("document.readyState + ' ' + location.href");
            that(seen == format!("complete {url}"), seen.to_string())
        })
        .await;
    }

    /// Evaluates a line of JavaScript in the page.
    pub fn eval(&self, expression: &str) -> Value {
        let told = self
            .call("Runtime.evaluate", &json!({"expression": expression, "returnByValue": true}));
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// Allows or forbids scripts from now on.
    pub fn scripts(&self, may: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": !may}));
    }

    /// Errors that pages reported: exceptions and violations of the Content-Security-Policy.
    pub fn complaints(&self) -> Vec<String> {
        self.eval("0");
        let events = self.events.borrow();
        let thrown = events.iter().filter(|e| e["method"] == "Runtime.exceptionThrown");
        let logged = events.iter().filter(|e| e["method"] == "Log.entryAdded");
        let logged = logged
            .map(|e| &e["params"]["entry"])
            .filter(|e| e["level"] == "error" && e["source"] != "network");
        thrown.map(ToString::to_string).chain(logged.map(ToString::to_string)).collect()
    }

    /// Saves a screenshot of the whole page at this width.
    pub fn picture(&self, file: &Path, width: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let metrics =
            json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        let shot = self.call("Page.captureScreenshot", &json!({"captureBeyondViewport": true}));
        std::fs::write(file, STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
