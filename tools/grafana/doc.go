// Package grafana checks the dashboard of muster template dashboard against Grafana's own schema. It has only tests:
// the types that Grafana generates from its schema are no part of the product.
package grafana
