"""Names by category, of which one may stand in the place of another (ParaQD, f7)."""

from __future__ import annotations

from tqnet.text.replacements import MONTHS

_FIRST_NAMES = """
    Aaron, Abigail, Ahmed, Alice, Amina, Andrew, Anita, Arjun, Bella, Boris, Carla, Chen, Chloe, Claire, Daniel, Diego,
    Elena, Elias, Emma, Farid, Fatima, Felix, Fiona, George, Grace, Hannah, Hassan, Helen, Henry, Ines, Irene, Isaac,
    Jacob, Jamal, Julia, Karim, Kavya, Kenji, Laura, Leo, Liam, Lina, Lucas, Maya, Mei, Miguel, Mohan, Nadia, Nina,
    Noah, Olga, Oliver, Oscar, Paula, Pedro, Priya, Rahul, Rosa, Ruth, Samuel, Sara, Simon, Sofia, Tariq, Teresa,
    Tobias, Uma, Victor, Wanda, Yusuf, Zoe
"""
_SURNAMES = """
    Adams, Ahmed, Baker, Brown, Campbell, Chen, Costa, Davies, Evans, Fischer, Garcia, Gupta, Hughes, Ivanov, Johnson,
    Kim, Kumar, Lopez, Martin, Miller, Murphy, Nguyen, Okafor, Patel, Robinson, Rossi, Silva, Smith, Tanaka, Walker
"""
_BY_LABEL = {
    "PERSON": _FIRST_NAMES,
    "GPE": """
        London, Paris, Berlin, Madrid, Rome, Delhi, Mumbai, Chicago, Boston, Toronto, Sydney, Tokyo, Cairo, Nairobi,
        Lima, Denver, Seattle, Texas, Ohio, Kenya, Brazil, Canada, France, Spain, India, Japan, Mexico, Egypt
    """,
    "LOC": """
        Lake Victoria, Lake Geneva, the Alps, the Andes, the Nile, the Amazon, the Rhine, the Danube, the Sahara, Asia,
        Africa, Europe, the Pacific
    """,
    "FAC": """
        Central Station, Victoria Bridge, Heathrow Airport, King Street, Oak Avenue, Riverside Mall, Market Hall,
        Memorial Stadium, Highway 9, Park Road
    """,
    "ORG": """
        Acme, Bluebird Books, Corner Market, Green Valley School, Harbour Bank, Lakeside College, Northern Mills,
        Oakwood Academy, Pine Hill Bakery, Silver Star Motors, Sunrise Foods, the City Council, Westfield Library
    """,
    "NORP": """
        American, British, Canadian, Chinese, Dutch, Egyptian, French, German, Greek, Indian, Italian, Japanese,
        Mexican, Polish, Spanish, Swedish
    """,
    "LANGUAGE": "English, French, German, Hindi, Italian, Japanese, Latin, Portuguese, Russian, Spanish, Turkish",
    "PRODUCT": "Aurora, Comet, Falcon, Meteor, Nimbus, Pioneer, Rocket, Swift, Vista",
    "EVENT": "Easter, Christmas, Thanksgiving, Diwali, Halloween, the Olympics, New Year, the World Cup",
    "WORK_OF_ART": "Hamlet, Moby Dick, Peter Pan, Robinson Crusoe, Snow White, The Jungle Book, Treasure Island",
    "MONTH": ", ".join(MONTHS),
    "WEEKDAY": "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday",
}

#: Label -> names. The labels are spaCy's, with WEEKDAY and MONTH for dates that are but one of these.
NAMES: dict[str, tuple[str, ...]] = {
    label: tuple(" ".join(names.split()).split(", ")) for label, names in _BY_LABEL.items()
}
#: Behind "Mr.", "Dr." and the like.
SURNAMES = tuple(" ".join(_SURNAMES.split()).split(", "))
