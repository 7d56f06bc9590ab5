package controller

import (
	"context"
	"errors"
)

func (l *Loop) end(ctx context.Context, e End) error {
	if l.o.Releaser == nil {
		return errors.New("this fleet cannot end members; they have to leave by themselves")
	}
	if !l.ending.CompareAndSwap(false, true) {
		return errors.New("the members ended before are still ending")
	}
	defer l.ending.Store(false)
	return l.o.Releaser.End(ctx, e.Members)
}

func (l *Loop) protect(ctx context.Context, e Protect) error {
	if l.o.Protector == nil {
		return errors.New("this fleet cannot protect members")
	}
	return l.o.Protector.Protect(ctx, e.Members)
}
