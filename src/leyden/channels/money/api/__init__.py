"""The API's endpoints of credit and coupons."""
