package main

import (
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// one is a set of one series.
type one struct {
	series storage.Series
	read   bool
}

// Next implements storage.SeriesSet.
func (o *one) Next() bool {
	first := !o.read
	o.read = true
	return first
}

// At implements storage.SeriesSet.
func (o *one) At() storage.Series { return o.series }

// Err implements storage.SeriesSet.
func (o *one) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (o *one) Warnings() annotations.Annotations { return nil }
