package mustertest

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// This file stands in for a DynamoDB table of worker reports, over AWS JSON 1.0.

// Attributes are the attributes of an entry as the wire has them: by name, then by type (N or S), as text.
type Attributes map[string]map[string]string

// ReportTable stands in for one table of Amazon DynamoDB, with as much of its JSON protocol as worker reports need:
// conditional puts that only a newer report wins, and consistent queries of one fleet in pages. It refuses everything
// else as DynamoDB refuses a wrong request. Make one with [NewReportTable]. It is safe for concurrent use.
type ReportTable struct {
	name string
	page int // entries in a page of a query

	mu      sync.Mutex
	entries map[string]Attributes // by fleet and worker, separated by a zero byte
	calls   map[string]int        // by operation
	largest int                   // bytes
	fault   string                // error code of every answer; empty for none
}

// NewReportTable returns an empty table. Queries return so many entries in a page.
func NewReportTable(name string, page int) *ReportTable {
	return &ReportTable{name: name, page: page, entries: map[string]Attributes{}, calls: map[string]int{}}
}

// Do calls f with the entries, which it may change; any key will do.
func (t *ReportTable) Do(f func(entries map[string]Attributes)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.entries)
}

// Calls returns how often an operation such as "Query" was called, refused calls included.
func (t *ReportTable) Calls(operation string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[operation]
}

// Largest returns the size of the largest request in bytes.
func (t *ReportTable) Largest() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.largest
}

// Refuse makes every call fail with an error code such as "ResourceNotFoundException", until it is called with an
// empty one.
func (t *ReportTable) Refuse(code string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = code
}

// ServeHTTP implements [http.Handler].
func (t *ReportTable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, answer := t.answer(r)
	text, err := json.Marshal(answer)
	if err != nil {
		code, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	// The SDK checks this sum and repeats the call when it is wrong.
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 10))
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// answer returns the answer to a request and its status.
func (t *ReportTable) answer(r *http.Request) (int, any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	t.largest = max(t.largest, len(body))
	// Unknown operations are counted as well.
	operation, known := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	t.calls[operation]++
	var in tableRequest
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	switch {
	case t.fault != "":
		return refuseCall(t.fault, "the test makes this call fail")
	// DynamoDB refuses an unsigned call; the stand-in only checks that there is a signature.
	case err != nil || !known || r.Header.Get("Authorization") == "" || in.TableName != t.name:
		return refuseCall("ValidationException", fmt.Sprintf("a call %q of the table %q that cannot be: %v", operation,
			in.TableName, err))
	case operation == "PutItem":
		return t.put(in)
	case operation == "Query":
		return t.query(in)
	}
	return refuseCall("UnknownOperationException", operation)
}

// tableRequest is the input of both operations.
type tableRequest struct {
	TableName, ConditionExpression, KeyConditionExpression string
	ConsistentRead                                         bool
	Item                                                   Attributes
	ExclusiveStartKey                                      Attributes
	ExpressionAttributeNames                               map[string]string
	ExpressionAttributeValues                              Attributes
}

// refuseCall returns an error in the form of DynamoDB.
func refuseCall(code, message string) (int, any) {
	return http.StatusBadRequest, map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#" + code,
		"message": message}
}

// put stores a report if it is newer than the stored one. The condition must be exactly that of the product.
func (t *ReportTable) put(in tableRequest) (int, any) {
	names, newer := in.ExpressionAttributeNames, in.ExpressionAttributeValues[":n"]["N"]
	if in.ConditionExpression != "attribute_not_exists(#w) OR #n < :n" || names["#w"] != "worker" ||
		names["#n"] != "seq" || in.Item["fleet"]["S"] == "" || in.Item["worker"]["S"] == "" {
		return refuseCall("ValidationException", "the stand-in knows only the conditional put of reports")
	}
	key := in.Item["fleet"]["S"] + "\x00" + in.Item["worker"]["S"]
	// The condition of the put: no report of this worker, or an older sequence number.
	if old, ok := t.entries[key]; ok {
		was, errWas := strconv.ParseInt(old["seq"]["N"], 10, 64)
		is, errIs := strconv.ParseInt(newer, 10, 64)
		if errWas != nil || errIs != nil || was >= is {
			return refuseCall("ConditionalCheckFailedException", "The conditional request failed")
		}
	}
	t.entries[key] = in.Item
	return http.StatusOK, struct{}{}
}

// query returns a page of a fleet's reports, in the order of the workers' names.
func (t *ReportTable) query(in tableRequest) (int, any) {
	if in.KeyConditionExpression != "#f = :f" || in.ExpressionAttributeNames["#f"] != "fleet" || !in.ConsistentRead {
		return refuseCall("ValidationException", "the stand-in knows only the consistent query of a fleet")
	}
	var found []Attributes
	for _, e := range t.entries {
		if e["fleet"]["S"] == in.ExpressionAttributeValues[":f"]["S"] &&
			e["worker"]["S"] > in.ExclusiveStartKey["worker"]["S"] {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b Attributes) int { return strings.Compare(a["worker"]["S"], b["worker"]["S"]) })
	out := map[string]any{"Items": found[:min(t.page, len(found))]}
	// The key of the last entry continues the query, as in DynamoDB.
	if len(found) > t.page {
		last := found[t.page-1]
		out["LastEvaluatedKey"] = Attributes{"fleet": last["fleet"], "worker": last["worker"]}
	}
	return http.StatusOK, out
}
