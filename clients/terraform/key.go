package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type keyResource struct{ *platform }

type keyModel struct {
	ID             types.String `tfsdk:"id"`
	OrganizationID types.String `tfsdk:"organization_id"`
	Name           types.String `tfsdk:"name"`
	Scopes         types.Set    `tfsdk:"scopes"`
	Days           types.Int64  `tfsdk:"days"`
	Key            types.String `tfsdk:"api_key"`
}

func (*keyResource) Metadata(
	_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse,
) {
	answer.TypeName = "leyden_api_key"
}

func (*keyResource) Schema(
	_ context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse,
) {
	fixed := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	kept := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	answer.Schema = schema.Schema{
		Description: "An API key of an organization. Needs the provider's operator_key.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, PlanModifiers: kept, Description: "The key's id."},
			"organization_id": schema.StringAttribute{
				Required: true, PlanModifiers: fixed, Description: "Whose key it is."},
			"name": schema.StringAttribute{
				Required: true, PlanModifiers: fixed, Description: "What it is for."},
			"scopes": schema.SetAttribute{
				Required: true, ElementType: types.StringType,
				PlanModifiers: []planmodifier.Set{setplanmodifier.RequiresReplace()},
				Description:   "What it may do: `node`, `flow` or both."},
			"days": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(0),
				PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
				Description:   "Days until it expires. Default: 0, never."},
			"api_key": schema.StringAttribute{
				Computed: true, Sensitive: true, PlanModifiers: kept,
				Description: "The key. It is in Terraform's state: encrypt that, or " +
					"create keys elsewhere."},
		},
	}
}

func (r *keyResource) Configure(
	_ context.Context, request resource.ConfigureRequest, answer *resource.ConfigureResponse,
) {
	if request.ProviderData == nil {
		return // before the provider is configured
	}
	r.platform = request.ProviderData.(*platform)
	if r.operator == nil {
		needsKey(&answer.Diagnostics, "an operator key", "operator_key", "LEYDEN_OPERATOR_KEY")
	}
}

func (m keyModel) all() string {
	return "/operator/organizations/" + m.OrganizationID.ValueString() + "/keys"
}

func (r *keyResource) Create(
	ctx context.Context, request resource.CreateRequest, answer *resource.CreateResponse,
) {
	var model keyModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	scopes := []string{}
	answer.Diagnostics.Append(model.Scopes.ElementsAs(ctx, &scopes, false)...)
	var made struct {
		ID  string `json:"key_id"`
		Key string `json:"api_key"`
	}
	err := r.operator.createOnce(ctx, model.all(), map[string]any{
		"name": model.Name.ValueString(), "scopes": scopes, "days": model.Days.ValueInt64(),
	}, &made)
	if err != nil {
		answer.Diagnostics.AddError("No key was received", err.Error()+
			"\n\nIf the answer was lost, a key of this name exists: revoke it.")
		return
	}
	model.ID, model.Key = types.StringValue(made.ID), types.StringValue(made.Key)
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
}

// Read forgets a key that was revoked or has expired, so that the next one is created.
func (r *keyResource) Read(
	ctx context.Context, request resource.ReadRequest, answer *resource.ReadResponse,
) {
	var model keyModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	var shown struct {
		Keys []struct {
			ID      string  `json:"key_id"`
			Revoked *string `json:"revoked"`
		} `json:"keys"`
	}
	err := r.operator.call(ctx, "GET", model.all(), nil, &shown)
	if err != nil && !isMissing(err) {
		answer.Diagnostics.AddError("The key is not known", err.Error())
		return
	}
	for _, each := range shown.Keys {
		if each.ID == model.ID.ValueString() && each.Revoked == nil {
			return
		}
	}
	answer.State.RemoveResource(ctx)
}

func (*keyResource) Update(
	_ context.Context, _ resource.UpdateRequest, answer *resource.UpdateResponse,
) {
	answer.Diagnostics.AddError("A key can't be changed", "Create another.")
}

func (r *keyResource) Delete(
	ctx context.Context, request resource.DeleteRequest, answer *resource.DeleteResponse,
) {
	var model keyModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	err := r.operator.call(ctx, "DELETE", model.all()+"/"+model.ID.ValueString(), nil, nil)
	if err != nil && !isMissing(err) {
		answer.Diagnostics.AddError("The key was not revoked", err.Error())
	}
}
