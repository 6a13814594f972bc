"""Coins of a dollar that have a name: "20 quarters" are "20 coins of 25 cents"."""

#: Name -> its cents.
COINS = {"nickel": 5, "dime": 10, "quarter": 25}
