// Package prometheus measures a queue, or anything else that can be counted, by queries in PromQL that a Prometheus
// server, or one that speaks its API, answers.
//
// [Config] is what a fleet states: the URL, a bearer token, and a query for each [kind.Quantity]. [Source] is the
// muster.Source of it, made from [Options].
//
//	prometheus: {url: "http://prometheus:9090", backlog: 'sum(jobs_waiting{queue="mail"})'}
//
// A query gives one number: a scalar, or a vector of one series. What gives none is unknown, with its reason, and no
// worker is stopped because of it: a series that is absent or stale, one that is not a number, several series where one
// is meant, a server that fails or warns. A zero is believed, because PromQL makes none of what is absent; a query with
// "or vector(0)" means it.
//
// A number is as old as the last scrape. Prometheus continues a series that it has not scraped for as long as its
// lookback, five minutes unless it is configured otherwise; a target that cannot be scraped is stale at once. So a poll
// much shorter than the scrape interval shows nothing new.
//
// This is a small source, and the one to read before writing another: prometheus.go has the port, kind.go the keys and
// their checks. For metrics in CloudWatch use package source/cloudwatch. The metrics that Muster itself offers to
// Prometheus are written by package server.
package prometheus
