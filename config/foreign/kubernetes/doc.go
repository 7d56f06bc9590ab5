// Package kubernetes reads ScaledObjects and ScaledJobs of KEDA, and HorizontalPodAutoscalers, as fleets of a
// configuration.
//
// [Read] takes all objects together, because a trigger may name its queue by a variable of the workload that it
// scales. It makes a fleet of each object that says how to scale:
//
//	ScaledObject             a policy for each trigger, of which the maximum counts
//	ScaledJob                policy exact: a Job for each so many messages
//	HorizontalPodAutoscaler  external metrics that count messages; others are notes
//
//	trigger aws-sqs-queue    backlog-per-worker, or metric-math when messages in flight or delayed count too
//	trigger aws-cloudwatch   metric-math on the metric per replica
//	trigger prometheus       backlog-per-worker on the query
//	trigger cron             schedule
//
// Muster cannot set the replicas or Jobs of Kubernetes, so such a fleet stays in shadow mode. What Muster does
// otherwise than the autoscaler of Kubernetes, such as its tolerance of 10 %, is a remark at the fleet.
//
// Defaults are those of KEDA and Kubernetes, written out where Muster has others. The package knows neither templates
// nor AWS resources: package aws reads those.
package kubernetes
