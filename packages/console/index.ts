import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failure, version } from '@warder/base'
import {
  defineOperation,
  get,
  type IncomingRequest,
  type Operation,
  type OperationContext,
  rawReply,
} from '@warder/server'
import Type from 'typebox'

/** What `build.ts` makes. A literal address: a bundle finds it (`scripts/bundle/addresses.ts`). */
const built = fileURLToPath(new URL('./dist', import.meta.url))

/**
 * Trusted Types without any policy: no script of the page writes HTML. React sets single styles through the CSSOM, which
 * `style-src` permits.
 */
const pagePolicy = [
  "default-src 'none'",
  ...[
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
  ],
  ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ')

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** By preference; `build.ts` writes each file in these forms, too. */
const encodings = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
] as const

/** Ways to log in that a service offers for its pages. */
export interface Logins {
  /** `handover`: at the authentication service; `password`, `saml`, `openid`: at this service. */
  readonly ways: readonly ('handover' | 'password' | 'saml' | 'openid')[]
  /** Realms that `saml` offers, if they are disclosed. */
  readonly realms: readonly string[]
}

interface ConsoleOptions<Services> {
  readonly service: 'auth' | 'kms'
  /** Address of the other service of the installation for browsers, if it is known. */
  other(context: OperationContext<Services>): string | undefined
  /** SHA-256 of the certificate of the local authority; undefined: browsers need not trust one. */
  authority(context: OperationContext<Services>): Promise<string | undefined>
  logins(context: OperationContext<Services>): Promise<Logins>
  /** Name of the cookie of a session. */
  readonly sessionCookie: string
}

const tag = 'Console'
const Service = Type.Union([Type.Literal('auth'), Type.Literal('kms')])
const anyone = { name: 'public', public: true } as const
const toPage = {
  names: 'any' as const,
  because: 'The addresses of rooms of the console carry their own parameters, which the page reads.',
}

/** Pages for people: the files of the console below `/ui/`, and what the page must know before a login. */
export function consoleOperations<Services>(
  options: ConsoleOptions<Services>,
): readonly Operation<Services>[] {
  const define = defineOperation<Services>()
  const page = (name: string, path: string, summary: string) =>
    define({
      ...{ name, route: get(path), summary, tag },
      access: anyone,
      reach: ['reveal public'],
      ...(path.includes('{') && { pathParameters: Type.Object({ room: Type.String() }) }),
      foreignParameters: toPage,
      replyContentType: 'text/html; charset=utf-8',
      errors: { 503: 'The console has not been built.' },
      audited: false,
      act: (_input, { request }) => readBuilt('index.html', request),
    })
  const redirect = (name: string, path: string, summary: string, isForBrowsersOnly: boolean) =>
    define({
      ...{ name, route: get(path), summary, tag },
      access: anyone,
      reach: [],
      foreignParameters: toPage,
      status: 302,
      ...(isForBrowsersOnly && { errors: { 404: 'The caller accepts no HTML.' } }),
      audited: false,
      act: (_input, { request }) => {
        if (isForBrowsersOnly && !(request.headers.accept ?? '').includes('text/html'))
          throw failure('not_found', 'There is no resource at this path.')
        return rawReply({ status: 302, headers: { Location: '/ui/', Vary: 'Accept' } })
      },
    })
  return [
    redirect('ui.root', '/', 'To the console, for browsers', true),
    redirect('ui.start', '/ui', 'To the console', false),
    page('ui.page', '/ui/', 'The console'),
    page('ui.login_page', '/ui/login', 'The console: log in'),
    page('ui.room', '/ui/{room*}', 'The console: one of its rooms'),
    define({
      name: 'ui.asset',
      route: get('/ui/assets/{file}'),
      summary: 'A script or a style of the console',
      tag,
      access: anyone,
      reach: ['reveal public'],
      pathParameters: Type.Object({ file: Type.String({ pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$' }) }),
      replyContentType: 'application/octet-stream',
      errors: { 404: 'There is no such file.', 503: 'The console has not been built.' },
      // The name of a file contains a hash of its content.
      cacheControl: 'public, max-age=31536000, immutable',
      audited: false,
      act: ({ path }, { request }) => readBuilt(join('assets', path.file), request),
    }),
    infoOperation(options),
  ]
}

/**
 * Whether the first administrator still has the initial password is not among them: it would tell strangers which
 * installations to attack, and a client at a loopback address may be a proxy.
 */
function infoOperation<Services>({
  service,
  sessionCookie,
  ...options
}: ConsoleOptions<Services>): Operation<Services> {
  return defineOperation<Services>()({
    name: 'ui.info',
    route: get('/ui/info'),
    summary: 'The service, its version, and its ways to log in, for the console',
    tag,
    access: anyone,
    reach: ['reveal public'],
    reply: Type.Object({
      service: Service,
      version: Type.String(),
      other: Type.Union([Type.Object({ service: Service, url: Type.String() }), Type.Null()], {
        description: 'The other service of the installation, if its address is known.',
      }),
      ways: Type.Array(
        Type.Union(['handover', 'password', 'saml', 'openid'].map((way) => Type.Literal(way))),
        {
          description:
            'Logins of the key management service: at the authentication service, or here. The authentication service ' +
            'has methods for each realm: `login.methods`.',
        },
      ),
      realms: Type.Array(Type.String(), { description: 'Realms with SAML, if they are disclosed.' }),
      authority_sha256: Type.Union([Type.String(), Type.Null()], {
        description:
          'SHA-256 of the certificate at `/ui/authority.crt`, to compare with the one that the start printed; null if the ' +
          'certificate of the service is not of a local authority.',
      }),
      has_credential: Type.Boolean({
        description: 'Whether the request has the cookie of a session or another credential, valid or not.',
      }),
    }),
    audited: false,
    async act(_input, context) {
      const url = options.other(context)
      return {
        ...{ service, version },
        other: url === undefined ? null : { service: service === 'auth' ? 'kms' : 'auth', url },
        ...(await options.logins(context)),
        authority_sha256: (await options.authority(context)) ?? null,
        has_credential: hasCredential(context.request, sessionCookie),
      }
    },
  })
}

/** Whether the caller may be logged in. */
function hasCredential(request: IncomingRequest, cookie: string): boolean {
  if (request.cookies(cookie).length > 0 || request.headers.authorization !== undefined) return true
  try {
    return request.peerCertificate() !== undefined
  } catch {
    // There is one, which operations with a login refuse by name.
    return true
  }
}

/** A file of the console, compressed as the client accepts it. */
async function readBuilt(file: string, { headers }: IncomingRequest) {
  const accepted = parseAcceptEncoding(headers['accept-encoding'] ?? '')
  const encoding = encodings.find(({ name }) => accepted.has(name))
  const isPage = file === 'index.html'
  try {
    return rawReply({
      raw: await readFile(join(built, `${file}${encoding?.ending ?? ''}`)),
      contentType: contentTypes[/\w+$/.exec(file)?.[0] ?? ''] ?? 'application/octet-stream',
      headers: {
        Vary: 'Accept-Encoding',
        ...(encoding !== undefined && { 'Content-Encoding': encoding.name }),
        ...(isPage && { 'Content-Security-Policy': pagePolicy, 'Referrer-Policy': 'no-referrer' }),
      },
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (!isPage) throw failure('not_found', 'There is no such file.')
    return notBuilt
  }
}

const notBuilt = rawReply({
  status: 503,
  raw: 'The console has not been built. In a checkout: node packages/console/build.ts\n',
  contentType: 'text/plain; charset=utf-8',
})

/** Encodings with a weight above 0 (RFC 9110 §12.5.3). */
function parseAcceptEncoding(header: string): ReadonlySet<string> {
  const members = header.toLowerCase().split(',')
  return new Set(
    members
      .map((member) => member.trim().split(/\s*;\s*/))
      .filter(([, weight = 'q=1']) => Number(weight.replace(/^q=/, '')) > 0)
      .map(([name = '']) => name),
  )
}
