// Package kubernetes reads ScaledObjects and ScaledJobs of KEDA, and HorizontalPodAutoscalers, as fleets of a
// configuration.
//
// [Read] is given all objects together, because a trigger may name its queue by a variable of the workload that it
// scales. Muster cannot set replicas or Jobs: a fleet that is read here is only watched.
package kubernetes
