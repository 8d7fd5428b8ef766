"""`hips web`: a search explorer in the browser, on the rounds of the search.

The server is stateless apart from running searches: a request holds its problem, and a search lives
as long as the response that streams it. Needs the extra `serve`.
"""
