package main

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const (
	startsWithin = 10 * time.Minute
	lookAgain    = time.Second
)

const longestAlias = 32 // of bytes

// required returns the settings that the API wants of each new node, with what they
// are where the configuration does not say.
func required(name string) map[string]any {
	return map[string]any{
		"autopilot": false, "grpc": true, "rest": true, "keysend": true,
		"whitelist": []string{}, "color": "#3399ff",
		"alias": name[:min(len(name), longestAlias)],
	}
}

// elsewhere are settings that leyden_node does not take, and why.
var elsewhere = map[string]string{
	"whitelist": "set it with leyden_whitelist",
	"webhook":   "create a leyden_webhook_endpoint, whose secret is yours from the start",
	"remotesigningmacaroon": "a secret must not be in Terraform's state: set it with " +
		"leyden nodes settings",
}

type nodeResource struct{ customers }

type nodeModel struct {
	ID                 types.String  `tfsdk:"id"`
	Name               types.String  `tfsdk:"name"`
	Network            types.String  `tfsdk:"network"`
	Type               types.String  `tfsdk:"type"`
	Version            types.String  `tfsdk:"version"`
	Settings           types.Dynamic `tfsdk:"settings"`
	DeletionProtection types.Bool    `tfsdk:"deletion_protection"`
	APIEndpoint        types.String  `tfsdk:"api_endpoint"`
	Created            types.String  `tfsdk:"created"`
}

// shownNode is a node as the API returns it.
type shownNode struct {
	ID          string         `json:"node_id"`
	Name        string         `json:"node_name"`
	Network     string         `json:"network"`
	Type        string         `json:"type"`
	Version     string         `json:"lnd_version"`
	Status      string         `json:"status"`
	Reason      string         `json:"status_reason"`
	APIEndpoint string         `json:"api_endpoint"`
	Created     string         `json:"created"`
	Settings    map[string]any `json:"settings"`
}

func (*nodeResource) Metadata(
	_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse,
) {
	answer.TypeName = "leyden_node"
}

func (*nodeResource) Schema(
	_ context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse,
) {
	fixed := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	kept := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	answer.Schema = schema.Schema{
		Description: "An lnd. Its wallet is created by its owner, with leyden wallet init " +
			"or in the browser: its seed and its keys are never in Terraform's state.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, PlanModifiers: kept, Description: "The node's id."},
			"name": schema.StringAttribute{
				Required: true, PlanModifiers: fixed,
				Description: "Its name, unique in your organization."},
			"network": schema.StringAttribute{
				Required: true, PlanModifiers: fixed,
				Description: "`mainnet` or `testnet`."},
			"type": schema.StringAttribute{
				Optional: true, Computed: true, PlanModifiers: fixed,
				Default:     stringdefault.StaticString("standard"),
				Description: "Its size: `standard` or `professional`."},
			"version": schema.StringAttribute{
				Optional: true, Computed: true, PlanModifiers: kept,
				Description: "The version of lnd. A newer one updates the node. " +
					"Default: the platform's."},
			"settings": schema.DynamicAttribute{
				Optional: true,
				Description: "Settings by name, as in the API, like { keysend = true }. " +
					"The others stay as they are."},
			"deletion_protection": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				Description: "Refuse to delete the node, whose wallet may hold coins. " +
					"Default: true."},
			"api_endpoint": schema.StringAttribute{
				Computed: true, PlanModifiers: kept,
				Description: "Its public host name, for REST and gRPC."},
			"created": schema.StringAttribute{
				Computed: true, PlanModifiers: kept, Description: "When it was created."},
		},
	}
}

func (r *nodeResource) Create(
	ctx context.Context, request resource.CreateRequest, answer *resource.CreateResponse,
) {
	var model nodeModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	settings, err := sent(model.Settings)
	if err != nil {
		answer.Diagnostics.AddAttributeError(path.Root("settings"), "Settings", err.Error())
		return
	}
	for name, value := range required(model.Name.ValueString()) {
		if _, isSet := settings[name]; !isSet {
			settings[name] = value
		}
	}
	body := map[string]any{
		"name": model.Name.ValueString(), "network": model.Network.ValueString(),
		"type": model.Type.ValueString(), "settings": settings,
	}
	if version := model.Version.ValueString(); version != "" {
		body["version"] = version
	}
	var made shownNode
	err = r.customer.create(ctx, "/organizations/"+r.organization+"/nodes", body, &made)
	if err != nil {
		answer.Diagnostics.AddError("The node was not created", err.Error())
		return
	}
	// From here on it exists, whatever comes: it is in the state before it has started.
	model.ID, model.Created = types.StringValue(made.ID), types.StringValue(made.Created)
	model.APIEndpoint = types.StringNull()
	if model.Version.IsUnknown() {
		model.Version = types.StringNull()
	}
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
	shown, err := r.started(ctx, model.ID)
	if shown != nil {
		model.take(shown)
		answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
	}
	if err != nil {
		answer.Diagnostics.AddError("The node was created and has not started", err.Error())
	}
}

// started returns the node as soon as its lnd runs, or as it is when the time is over.
func (r *nodeResource) started(ctx context.Context, id types.String) (*shownNode, error) {
	for end := time.Now().Add(startsWithin); ; {
		shown := &shownNode{}
		if err := r.customer.call(ctx, "GET", r.node(id), nil, shown); err != nil {
			return nil, err
		}
		switch shown.Status {
		case "waiting_init", "waiting_unlock", "running", "stopped":
			return shown, nil
		case "failed":
			return shown, fmt.Errorf("it failed: %s", shown.Reason)
		}
		if time.Now().After(end) {
			return shown, fmt.Errorf("it is %s after %s", shown.Status, startsWithin)
		}
		select {
		case <-ctx.Done():
			return shown, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func (r *nodeResource) Read(
	ctx context.Context, request resource.ReadRequest, answer *resource.ReadResponse,
) {
	var model nodeModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	var shown shownNode
	err := r.customer.call(ctx, "GET", r.node(model.ID), nil, &shown)
	if isMissing(err) {
		answer.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		answer.Diagnostics.AddError("The node is not known", err.Error())
		return
	}
	model.take(&shown)
	if model.DeletionProtection.IsNull() { // imported
		model.DeletionProtection = types.BoolValue(true)
	}
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
}

func (r *nodeResource) Update(
	ctx context.Context, request resource.UpdateRequest, answer *resource.UpdateResponse,
) {
	var model, before nodeModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	answer.Diagnostics.Append(request.State.Get(ctx, &before)...)
	if answer.Diagnostics.HasError() {
		return
	}
	settings, err := sent(model.Settings)
	if err != nil {
		answer.Diagnostics.AddAttributeError(path.Root("settings"), "Settings", err.Error())
		return
	}
	if len(settings) > 0 && !model.Settings.Equal(before.Settings) {
		err := r.customer.call(ctx, "POST", r.node(model.ID)+"/settings", settings, nil)
		if err != nil {
			answer.Diagnostics.AddError("The settings were not changed", err.Error())
			return
		}
	}
	version := model.Version.ValueString()
	if version != "" && version != before.Version.ValueString() {
		body := map[string]any{"version": version}
		if err := r.customer.call(ctx, "POST", r.node(model.ID)+"/update", body, nil); err != nil {
			answer.Diagnostics.AddError("The node was not updated", err.Error())
			return
		}
	}
	shown, err := r.started(ctx, model.ID)
	if shown != nil {
		model.take(shown)
		answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
	}
	if err != nil {
		answer.Diagnostics.AddError("The node was changed and has not started", err.Error())
	}
}

func (r *nodeResource) Delete(
	ctx context.Context, request resource.DeleteRequest, answer *resource.DeleteResponse,
) {
	var model nodeModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	if model.DeletionProtection.ValueBool() {
		answer.Diagnostics.AddError("The node is protected",
			"Its wallet may hold coins and channels. Close its channels, send its coins "+
				"elsewhere, apply deletion_protection = false, and try again.")
		return
	}
	err := r.customer.call(ctx, "DELETE", r.node(model.ID), nil, nil)
	if err != nil && !isMissing(err) {
		answer.Diagnostics.AddError("The node was not deleted", err.Error())
	}
}

func (*nodeResource) ImportState(
	ctx context.Context, request resource.ImportStateRequest, answer *resource.ImportStateResponse,
) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, answer)
}

// take copies what the API shows. Of the settings only those that are configured.
func (m *nodeModel) take(shown *shownNode) {
	m.ID = types.StringValue(shown.ID)
	m.Name = types.StringValue(shown.Name)
	m.Network = types.StringValue(shown.Network)
	m.Type = types.StringValue(shown.Type)
	m.Version = types.StringValue(shown.Version)
	m.APIEndpoint = types.StringValue(shown.APIEndpoint)
	m.Created = types.StringValue(shown.Created)
	configured, isObject := m.Settings.UnderlyingValue().(types.Object)
	if !isObject {
		return
	}
	kinds, values := map[string]attr.Type{}, map[string]attr.Value{}
	for name, value := range configured.Attributes() {
		values[name] = asShown(value, shown.Settings[name])
		kinds[name] = values[name].Type(context.Background())
	}
	m.Settings = types.DynamicValue(types.ObjectValueMust(kinds, values))
}

// asShown returns a setting of the platform in the kind in which it was configured:
// HCL's 20000 and "20000" are the same to the API.
func asShown(configured attr.Value, shown any) attr.Value {
	switch now := shown.(type) {
	case bool:
		return types.BoolValue(now)
	case string:
		if _, isNumber := configured.(types.Number); isNumber {
			if number, _, err := big.ParseFloat(now, 10, 64, big.ToNearestEven); err == nil {
				return types.NumberValue(number)
			}
		}
		return types.StringValue(now)
	}
	return configured
}

// sent returns the configured settings as the API takes them.
func sent(settings types.Dynamic) (map[string]any, error) {
	all := map[string]any{}
	if settings.IsNull() || settings.IsUnderlyingValueNull() {
		return all, nil
	}
	configured, isObject := settings.UnderlyingValue().(types.Object)
	if !isObject {
		return nil, fmt.Errorf("write them as an object, like { keysend = true }")
	}
	for name, value := range configured.Attributes() {
		if why, isElsewhere := elsewhere[name]; isElsewhere {
			return nil, fmt.Errorf("%s: %s", name, why)
		}
		switch given := value.(type) {
		case types.Bool:
			all[name] = given.ValueBool()
		case types.String:
			all[name] = given.ValueString()
		case types.Number:
			all[name] = given.ValueBigFloat().Text('f', -1)
		default:
			return nil, fmt.Errorf("%s: true, false, a text or a number", name)
		}
	}
	return all, nil
}
