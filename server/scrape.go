package server

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// scrape answers with all metrics, in the format that the client asks for, or with a failure and none: half of them would look
// like a program that lost the others. The library's own handler would add a compressor of 300 KB to every worker.
func scrape(g prometheus.Gatherer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		families, err := g.Gather()
		format := expfmt.Negotiate(r.Header)
		var text bytes.Buffer
		encoder := expfmt.NewEncoder(&text, format)
		for _, family := range families {
			if err == nil {
				err = encoder.Encode(family)
			}
		}
		if err != nil {
			fail(w, http.StatusInternalServerError, fmt.Sprintf("gather the metrics: %v", err))
			return
		}
		w.Header().Set("Content-Type", string(format))
		w.Write(text.Bytes()) // that the client has gone is its own affair
	}
}
