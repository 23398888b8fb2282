"""VCS, the site's Gitea: git over HTTP and a part of its REST API."""
