import { publicAccess } from '@warder/keys'
import { get, rawReply } from '@warder/server'
import { define } from './services.ts'
import { contentType, escapeHtml } from './ui-page.ts'

/** No script and no style; its one form goes to this service. */
const policy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** `GET /ui/login`: the login page for browsers. */
export const loginPage = define({
  name: 'ui.login_page',
  route: get('/ui/login'),
  summary: 'Where a person can log in for the web page',
  description:
    'Offers the realms whose `allowed_return_origins` have this service, where the authentication service tells them.',
  tag: 'Web page',
  access: publicAccess,
  replyContentType: contentType,
  errors: { 503: 'The authentication service does not answer.' },
  audited: false,
  async act(_input, { services, request }) {
    const { samlLogin, oidcLogin } = services
    const realms = (await samlLogin?.realms(request.clientAddress)) ?? []
    const raw = renderPage({ realms, hasSaml: samlLogin !== undefined, hasOidc: oidcLogin !== undefined })
    const headers = { 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' }
    return rawReply({ raw, contentType, headers })
  },
})

interface Ways {
  readonly realms: readonly string[]
  readonly hasSaml: boolean
  readonly hasOidc: boolean
}

function renderPage({ realms, hasSaml, hasOidc }: Ways): string {
  const links = realms.map(
    (realm) =>
      `<li><a href="/ui/login_saml?realm=${encodeURIComponent(realm)}">Log in to ${escapeHtml(realm)}</a></li>`,
  )
  if (hasOidc) links.push('<li><a href="/ui/login_flow">Log in at the OpenID provider</a></li>')
  const form = `<form action="/ui/login_saml" method="get">
<label>Realm <input name="realm" required maxlength="64" pattern="[A-Za-z0-9_\\-]+" autocomplete="organization"></label>
<button>Log in</button>
</form>`
  const nothing = '<p>No login for browsers is configured.</p>'
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Warder: log in</title>
<h1>Log in</h1>
${links.length === 0 ? '' : `<ul>\n${links.join('\n')}\n</ul>`}
${hasSaml ? form : ''}${links.length === 0 && !hasSaml ? nothing : ''}
</html>
`
}
