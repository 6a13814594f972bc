"""Past participles of English verbs."""

from __future__ import annotations

import re

_IRREGULAR = """
    bear=borne beat=beaten become=become begin=begun bend=bent bet=bet bind=bound bite=bitten bleed=bled blow=blown
    break=broken breed=bred bring=brought broadcast=broadcast build=built burst=burst buy=bought cast=cast catch=caught
    choose=chosen cut=cut deal=dealt dig=dug do=done draw=drawn drink=drunk drive=driven eat=eaten feed=fed feel=felt
    fight=fought find=found fling=flung fly=flown forbid=forbidden forget=forgotten forgive=forgiven freeze=frozen
    get=got give=given grind=ground grow=grown hang=hung hear=heard hide=hidden hit=hit hold=held hurt=hurt keep=kept
    know=known lay=laid lead=led leave=left lend=lent light=lit lose=lost make=made mean=meant meet=met mistake=mistaken
    mow=mowed outgrow=outgrown overcome=overcome overtake=overtaken pay=paid put=put quit=quit read=read rebuild=rebuilt
    resell=resold rewrite=rewritten ride=ridden ring=rung run=run saw=sawed say=said see=seen seek=sought sell=sold
    send=sent set=set sew=sewn shake=shaken shed=shed shoot=shot show=shown shrink=shrunk shut=shut sing=sung sink=sunk
    slay=slain slide=slid sling=slung slit=slit sow=sown speak=spoken spend=spent spill=spilled spin=spun split=split
    spoil=spoiled spread=spread steal=stolen stick=stuck sting=stung string=strung strike=struck sweep=swept swim=swum
    swing=swung take=taken teach=taught tear=torn tell=told think=thought throw=thrown undergo=undergone
    understand=understood undertake=undertaken undo=undone upset=upset wake=woken wear=worn weave=woven win=won
    wind=wound withdraw=withdrawn withhold=withheld withstand=withstood wring=wrung write=written
"""
_PARTICIPLES = dict(pair.split("=") for pair in _IRREGULAR.split())
_DOUBLED = "admit commit occur prefer refer submit transfer permit regret equip control travel cancel label"
#: Two syllables with the stress on the second, or in British spelling: the last consonant is doubled.
_DOUBLES = frozenset(_DOUBLED.split())


def past_participle(lemma: str, past: str | None = None) -> str | None:
    """ "eaten" of "eat"; None where it cannot be told.

    Args:
        past: The simple past, where it is known: a regular verb's is its participle.
    """
    if lemma in _PARTICIPLES:
        return _PARTICIPLES[lemma]
    if past is not None:
        return past if past.endswith("ed") else None
    if lemma.endswith("e"):
        return f"{lemma}d"
    if re.search(r"[^aeiou]y$", lemma):
        return f"{lemma[:-1]}ied"
    if lemma in _DOUBLES or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", lemma):
        return f"{lemma}{lemma[-1]}ed"
    return f"{lemma}ed"
