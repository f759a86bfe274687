//! HTTP and time: the webhook door, the worker, the ticker, the runner API, the pages.
