import { requirePrincipal, signedIn } from '@warder/keys'
import { get, rawReply } from '@warder/server'
import { define } from './services.ts'

export const contentType = 'text/html; charset=utf-8'
/** The page has no script, style or form, and is shown in no frame. */
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Path to which the browser is redirected after a login. */
export const pagePath = '/ui'

/** `GET /ui`: the page after a login. It shows the user's name and the next steps. */
export const uiPage = define({
  name: 'ui.page',
  reach: ['reveal public'],
  route: get(pagePath),
  summary: 'Page after a login, with the name of the user',
  tag: 'Web page',
  access: signedIn,
  replyContentType: contentType,
  act: (_input, context) =>
    rawReply({
      raw: pageFor(requirePrincipal(context).name),
      contentType,
      headers: { 'Content-Security-Policy': policy },
    }),
})

function pageFor(user: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Warder: keys</title>
<h1>Logged in</h1>
<p>You are <strong>${escapeHtml(user)}</strong> to the key management service of this Warder.</p>
<p><a href="/swagger">Try its operations in the browser</a></p>
</html>
`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a user name for the page: issuers may permit any characters in it. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
