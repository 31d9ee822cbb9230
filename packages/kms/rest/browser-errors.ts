import { type ErrorShape, errorBody, type PublicError } from '@warder/server'

/** Where browsers go: the room of the console that says which problem it was. Closed, so that no text of a request is shown. */
type Problem =
  | 'not_started'
  | 'expired'
  | 'other_login'
  | 'refused'
  | 'realm'
  | 'address'
  | 'not_configured'
  | 'busy'
  | 'unavailable'

const byStatus: Readonly<Record<number, Problem>> = {
  400: 'address',
  401: 'refused',
  403: 'realm',
  404: 'not_configured',
  429: 'busy',
}
const ofBrowser: readonly Problem[] = ['not_started', 'expired', 'other_login']

function findProblem({ status, members }: PublicError): Problem {
  return ofBrowser.find((problem) => problem === members?.problem) ?? byStatus[status] ?? 'unavailable'
}

/**
 * Errors of logins to which browsers are sent: programs get the default body; browsers (`Accept: text/html`) get a page
 * that leads to the login of the console. The status stays that of the error. The page has nothing of the request, and
 * the address with the code is left.
 */
export const browserErrors: ErrorShape = {
  addsToDefault: true,
  reply(failure, { id, headers }) {
    const vary = { Vary: 'Accept' }
    if (!(headers.accept ?? '').includes('text/html')) return { json: errorBody(failure, id), headers: vary }
    const target = `/ui/login?problem=${findProblem(failure)}`
    return {
      raw: [
        '<!doctype html>',
        '<html lang="en"><head><meta charset="utf-8">',
        `<meta http-equiv="refresh" content="0;url=${target}">`,
        '<title>The login was refused</title></head>',
        `<body><p>The login was refused. <a href="${target}">Continue</a></p></body></html>`,
        '',
      ].join('\n'),
      contentType: 'text/html; charset=utf-8',
      headers: {
        ...vary,
        'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'",
        'Referrer-Policy': 'no-referrer',
      },
    }
  },
}
