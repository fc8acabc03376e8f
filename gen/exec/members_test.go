package exec

import (
	"reflect"
	"testing"
)

// TestMembers: the members of an Executor are named fields, so a call says whose it is, and none of them refers to the
// Executor or its Services.
func TestMembers(t *testing.T) {
	whole := reflect.TypeFor[Executor]()
	for i := range whole.NumField() {
		member := whole.Field(i)
		if member.Anonymous {
			t.Errorf("the methods of %v are promoted into Executor: name the field", member.Type)
		}
		for owner, field := range fieldsOf(member.Type) {
			t.Errorf("%s has the field %s of the whole Executor: give it the member that it needs", owner, field)
		}
	}
}

// fieldsOf are the fields of a member that have the whole Executor.
func fieldsOf(member reflect.Type) map[string]string {
	found := make(map[string]string)
	for member.Kind() == reflect.Pointer {
		member = member.Elem()
	}
	for i := range member.NumField() {
		switch f := member.Field(i); f.Type {
		case reflect.TypeFor[*Executor](), reflect.TypeFor[Services]():
			found[member.Name()] = f.Name
		}
	}
	return found
}
