"""The zero of the likeness scale: what everyday sentences find, which no bank of questions is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tqnet.questions import Question
from tqnet.search.ranking import FEATURES, likeness, pair_features
from tqnet.search.retrieval import SOURCES, Retriever

if TYPE_CHECKING:
    from tqnet.search.background import Words
    from tqnet.search.build import Encode
    from tqnet.search.engine import SearchEngine

#: By language, as a bank finds more in its own. None is in `assets/unrelated_queries.jsonl`, which tests this.
UNRELATED = {
    "en": """
        Where did I park the car?
        Please call me back after lunch.
        The concert was cancelled because of the rain.
        best restaurants near the station
        My sister is getting married in June.
        How do you make tomato soup?
        The cat sleeps on the sofa all day.
        symptoms of a cold
        I would like to cancel my subscription.
        Who painted this portrait of the queen?
        latest news about the election
        She forgot her umbrella on the bus.
        How do I clean a coffee machine?
        song lyrics about the sea
        The museum is closed on Mondays.
        When does the next train to the airport leave?
        a good book for a long journey
        Our neighbours have a new dog.
        How to apologize to a friend
        capital of Australia
        The actor won his second award last night.
        gift ideas for grandparents
        I can't open the attachment of your e-mail.
        what to plant in the garden in spring
        The children are afraid of the dark.
        zzz xkcd wvut
        la la la la
        cheap hotel by the lake
        Can you recommend a dentist?
        He speaks three languages fluently.
    """,
    "zh": """
        我的车停在哪里了
        午饭后请给我回电话
        因为下雨音乐会取消了
        车站附近有什么好吃的餐馆
        我妹妹六月份要结婚
        番茄汤怎么做
        小狗整天躺在沙发上
        感冒有哪些症状
        我想取消会员订阅
        这幅画像是谁画的
        最近有什么新闻
        她把雨伞忘在公交车上了
        咖啡机怎么清洗
        关于大海的歌词
        博物馆星期一闭馆
        去机场的火车什么时候开
        推荐一本适合旅途看的书
        邻居家养了一只新猫
        怎样向朋友道歉
        澳大利亚的首都在哪里
        那位演员昨晚又得奖了
        送给爷爷奶奶什么礼物好
        你发来的附件打不开
        春天花园里种什么花
        孩子们怕黑
        啦啦啦啦啦
        湖边的便宜旅馆
        能介绍一位牙医吗
        他会说三种语言
        今天晚上看什么电影
    """,
}

#: Minimum cosine of the character runs for a candidate that is about the sentence after all.
_ABOUT_IT = 0.5

#: Share of the sentences that find nothing above the zero.
_SHARE = 0.95


def unrelated_likeness(engine: SearchEngine, encode: Encode, words: Words) -> dict[str, float]:
    """Return the likeness below which a result is meaningless, by what is searched: ``vectors``, or ``words`` alone."""
    best: dict[str, list[float]] = {"vectors": [], "words": []}
    retrieve = Retriever(engine)
    for sentences in UNRELATED.values():
        questions = [Question(id="", stem=line.strip()) for line in sentences.strip().splitlines()]
        vectors = encode(questions)
        for name, by in (("vectors", SOURCES), ("words", ("text",))):
            scores = []
            for question, vector in zip(questions, vectors, strict=True):
                candidates = retrieve(question, vector, by=by)
                features = pair_features(question, candidates, words)
                alike = likeness(question, candidates, features)
                others = alike[features[:, FEATURES.index("characters")] < _ABOUT_IT]
                scores.append(others.max(initial=0.0))
            best[name].append(float(np.quantile(scores, _SHARE)))
    return {name: round(max(values), 4) for name, values in best.items()}
