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

// Attributes are those of an entry of a [ReportTable], as the wire has them: the kind of each, N or S, and its text.
type Attributes map[string]map[string]string

// ReportTable is a stand-in of one table of Amazon DynamoDB, with as much of its JSON protocol as reports of workers
// need: puts on the condition that they are newer, and queries of one fleet in pages. Whatever else it is asked, it
// refuses, as DynamoDB refuses a wrong request. Make one with [NewReportTable]. It is safe for concurrent use.
type ReportTable struct {
	name string
	page int

	mu      sync.Mutex
	entries map[string]Attributes
	calls   map[string]int
	largest int
	fault   string
}

// NewReportTable returns an empty table of that name, whose queries return so many entries in a page.
func NewReportTable(name string, page int) *ReportTable {
	return &ReportTable{name: name, page: page, entries: map[string]Attributes{}, calls: map[string]int{}}
}

// Do lets f read and change the entries, by any key.
func (t *ReportTable) Do(f func(entries map[string]Attributes)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.entries)
}

// Calls tells how often an operation was called, as in "Query", refused calls too.
func (t *ReportTable) Calls(operation string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[operation]
}

// Largest is the size of the largest request, in bytes.
func (t *ReportTable) Largest() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.largest
}

// Refuse has every call refused with the given error code, as in "ResourceNotFoundException"; empty ends that.
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
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 10))
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// answer is what a request is answered, with its status.
func (t *ReportTable) answer(r *http.Request) (int, any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	t.largest = max(t.largest, len(body))
	operation, known := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	t.calls[operation]++
	var in tableRequest
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	switch {
	case t.fault != "":
		return refuseCall(t.fault, "the stand-in was told to refuse")
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

// tableRequest is what both operations are asked.
type tableRequest struct {
	TableName, ConditionExpression, KeyConditionExpression string
	ConsistentRead                                         bool
	Item                                                   Attributes
	ExclusiveStartKey                                      Attributes
	ExpressionAttributeNames                               map[string]string
	ExpressionAttributeValues                              Attributes
}

func refuseCall(code, message string) (int, any) {
	return http.StatusBadRequest, map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#" + code,
		"message": message}
}

func (t *ReportTable) put(in tableRequest) (int, any) {
	names, newer := in.ExpressionAttributeNames, in.ExpressionAttributeValues[":n"]["N"]
	if in.ConditionExpression != "attribute_not_exists(#w) OR #n < :n" || names["#w"] != "worker" ||
		names["#n"] != "seq" || in.Item["fleet"]["S"] == "" || in.Item["worker"]["S"] == "" {
		return refuseCall("ValidationException", "another put than those of reports")
	}
	key := in.Item["fleet"]["S"] + "\x00" + in.Item["worker"]["S"]
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

func (t *ReportTable) query(in tableRequest) (int, any) {
	if in.KeyConditionExpression != "#f = :f" || in.ExpressionAttributeNames["#f"] != "fleet" || !in.ConsistentRead {
		return refuseCall("ValidationException", "another query than that of a fleet, or one that is not consistent")
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
	if len(found) > t.page {
		last := found[t.page-1]
		out["LastEvaluatedKey"] = Attributes{"fleet": last["fleet"], "worker": last["worker"]}
	}
	return http.StatusOK, out
}
