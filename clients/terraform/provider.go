package main

import (
	"context"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// platform is what resources get: the API with either key, and whose the first one is.
type platform struct {
	customer     *api
	operator     *api
	organization string
}

type leydenProvider struct{}

type providerModel struct {
	URL         types.String `tfsdk:"url"`
	APIKey      types.String `tfsdk:"api_key"`
	OperatorKey types.String `tfsdk:"operator_key"`
}

func newProvider() provider.Provider { return leydenProvider{} }

func (leydenProvider) Metadata(
	_ context.Context, _ provider.MetadataRequest, answer *provider.MetadataResponse,
) {
	answer.TypeName = "leyden"
}

func (leydenProvider) Schema(
	_ context.Context, _ provider.SchemaRequest, answer *provider.SchemaResponse,
) {
	answer.Schema = schema.Schema{
		Description: "Nodes, webhook endpoints and API keys of a Leyden platform.",
		Attributes: map[string]schema.Attribute{
			"url": schema.StringAttribute{
				Optional:    true,
				Description: "The platform's URL. Default: LEYDEN_URL.",
			},
			"api_key": schema.StringAttribute{
				Optional:    true,
				Sensitive:   true,
				Description: "An API key of your organization. Default: LEYDEN_KEY.",
			},
			"operator_key": schema.StringAttribute{
				Optional:  true,
				Sensitive: true,
				Description: "An operator key, which leyden_api_key needs. " +
					"Default: LEYDEN_OPERATOR_KEY.",
			},
		},
	}
}

func (leydenProvider) Configure(
	ctx context.Context, request provider.ConfigureRequest, answer *provider.ConfigureResponse,
) {
	var model providerModel
	answer.Diagnostics.Append(request.Config.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	url := or(model.URL, "LEYDEN_URL")
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		answer.Diagnostics.AddError("No platform",
			"Set url, or the variable LEYDEN_URL, to the platform's URL, which begins with https://.")
		return
	}
	made := &platform{}
	if key := or(model.APIKey, "LEYDEN_KEY"); key != "" {
		made.customer = newAPI(url, key)
		var shown struct {
			OrganizationID string `json:"organization_id"`
		}
		if err := made.customer.call(ctx, "GET", "/key", nil, &shown); err != nil {
			answer.Diagnostics.AddError("The API key was refused", err.Error())
			return
		}
		made.organization = shown.OrganizationID
	}
	if key := or(model.OperatorKey, "LEYDEN_OPERATOR_KEY"); key != "" {
		made.operator = newAPI(url, key)
	}
	answer.ResourceData = made
}

func or(configured types.String, variable string) string {
	if text := configured.ValueString(); text != "" {
		return text
	}
	return os.Getenv(variable)
}

func (leydenProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &nodeResource{} },
		func() resource.Resource { return &whitelistResource{} },
		func() resource.Resource { return &endpointResource{} },
		func() resource.Resource { return &keyResource{} },
	}
}

func (leydenProvider) DataSources(context.Context) []func() datasource.DataSource {
	return nil
}

// customers is what resources of one organization embed.
type customers struct {
	*platform
}

func (c *customers) Configure(
	_ context.Context, request resource.ConfigureRequest, answer *resource.ConfigureResponse,
) {
	if request.ProviderData == nil {
		return // before the provider is configured
	}
	c.platform = request.ProviderData.(*platform)
	if c.customer == nil {
		needsKey(&answer.Diagnostics, "an API key", "api_key", "LEYDEN_KEY")
	}
}

func (c *customers) node(id types.String) string {
	return "/organizations/" + c.organization + "/nodes/" + id.ValueString()
}

func needsKey(diagnostics *diag.Diagnostics, what, attribute, variable string) {
	diagnostics.AddError("No key", "This resource needs "+what+
		": set "+attribute+" of the provider, or the variable "+variable+".")
}
