package metrics

import _ "embed"

// Dashboard is a dashboard of Grafana for a daemon, as JSON to import.
//
//go:embed dashboard.json
var Dashboard []byte

// Alerts are rules of Prometheus for what an operator has to know at once.
//
//go:embed alerts.yaml
var Alerts []byte
