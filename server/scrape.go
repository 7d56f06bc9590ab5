package server

import (
	"net/http"

	"github.com/muster-scale/muster/internal/exposition"
)

// scrape answers with all metrics.
func scrape(collect func(*exposition.Page)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var page exposition.Page
		if collect != nil {
			collect(&page)
		}
		w.Header().Set("Content-Type", exposition.ContentType)
		w.Write(page.Bytes()) // that the client has gone is its own affair
	}
}
