package mustertest

import (
	"encoding/json"
	"net/http"
	"time"
)

// This file has the task protection endpoint of ECSAgent.

// protection answers a request for the state of the protection or for a change of it. A lost answer waits until the
// client gives up.
func (a *ECSAgent) protection(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPut {
		refuse(w, http.StatusMethodNotAllowed)
		return
	}
	status, body, silent := a.protect(r)
	if silent {
		<-r.Context().Done()
		return
	}
	answer(w, status, body)
}

// protect returns the answer to a request about the protection, and carries a PUT out. silent means that the answer
// must not arrive.
func (a *ECSAgent) protect(r *http.Request) (status int, body any, silent bool) {
	var request struct {
		ProtectionEnabled *bool
		ExpiresInMinutes  *int
	}
	changes := r.Method == http.MethodPut
	if changes {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if d.Decode(&request) != nil {
			return http.StatusBadRequest, failed("", "InvalidParameterException", "UpdateTaskProtection: failed to "+
				"decode request"), false
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now, arn := a.clock(), a.task.TaskARN
	if changes && request.ProtectionEnabled == nil {
		return http.StatusBadRequest, failed(arn, "InvalidParameterException", "Invalid request: does not contain "+
			"'ProtectionEnabled' field"), false
	}
	minutes := usualProtection
	if changes {
		call := ProtectionCall{At: now, Enabled: *request.ProtectionEnabled}
		if request.ExpiresInMinutes != nil {
			minutes = *request.ExpiresInMinutes
			call.Minutes = minutes
		}
		// The call is recorded before it is checked: a test counts refused calls too.
		a.calls = append(a.calls, call)
	}
	switch {
	// What the test has set decides before the request's own faults, except for a request that cannot be read.
	case a.code != "":
		return a.status, failed(arn, a.code, "refused by the stand-in"), false
	case changes && *request.ProtectionEnabled && (minutes < 1 || minutes > longestProtection):
		return http.StatusBadRequest, failed(arn, "InvalidParameterException", "expiresInMinutes must be between 1 "+
			"and 2880"), false
	case a.failure != "":
		return http.StatusOK, map[string]any{"failure": agentFailure{Arn: arn, Reason: a.failure}}, false
	}
	if changes {
		a.until = time.Time{}
		if *request.ProtectionEnabled {
			a.until = now.Add(time.Duration(minutes) * time.Minute)
		}
		a.calls[len(a.calls)-1].Done = true
	}
	state := agentState{TaskArn: arn}
	if now.Before(a.until) {
		until := a.until.UTC()
		state.ProtectionEnabled, state.ExpirationDate = true, &until
	}
	return http.StatusOK, map[string]any{"protection": state}, a.unnoticed
}
