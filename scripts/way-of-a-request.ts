// Which source files a request passes through: `node scripts/way-of-a-request.ts [--list]`.
//
// Whole services run in this process, and V8 counts calls of functions (precise coverage) while one
// request is answered. A file is on the way when one of its functions was called between the first byte of the request
// and the last of the reply; loading a module is no call of this kind. Requests have been answered before, so that what
// is done once for a process is done; the key of the request has not been used before, so that it is read and unsealed.
// Its own files are those that a simple request of the same interface does not pass through: GET /me of the key
// management service, DiscoverVersions of KMIP, GET /account, the metadata of SAML, and the account of ACME.
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeAt, fromBase32, scene, startAuth, startSaml } from '@warder/auth/testing'
import { startAcme } from '@warder/authority/testing'
import { aesAttributes, type KmipClient, kmipClient, objectType } from '@warder/kmip-server/testing'
import { outsider, startKms, toDer } from '@warder/kms/testing'

const root = fileURLToPath(new URL('..', import.meta.url))
const session = new Session()

/** The files of the packages in which functions are called while `act` runs, in the order of their names. */
async function listFiles(act: () => Promise<void>): Promise<ReadonlySet<string>> {
  await session.post('Profiler.takePreciseCoverage')
  await act()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const called = result
    .filter(({ url, functions }) => {
      const [module, ...inside] = functions
      const top = module?.functionName === '' ? inside : functions
      return url.startsWith('file:') && top.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
    })
    .map(({ url }) => relative(root, fileURLToPath(url)).replaceAll('\\', '/'))
    .filter((file) => file.startsWith('packages/') && !/(^|\/)testing\//.test(file))
  return new Set(called.sort())
}

/** The bytes that a client of KMIP 2.1 sends for one operation. */
async function encodeMessage(...ask: Parameters<KmipClient['ask']>): Promise<Uint8Array> {
  const made: Uint8Array[] = []
  const onlyWritten = (): Promise<never> => Promise.reject(new Error('only written'))
  const client = kmipClient({
    call(_method, _path, { bytes = new Uint8Array() } = {}) {
      made.push(bytes)
      return onlyWritten()
    },
    get: onlyWritten,
    post: onlyWritten,
    del: onlyWritten,
  })
  await client.ask(...ask).catch(() => undefined)
  return made[0] ?? new Uint8Array()
}

async function succeeds(answer: Promise<{ readonly status: number; readonly text: string }>): Promise<void> {
  const { status, text } = await answer
  if (status >= 300) throw new Error(`${status} ${text}`)
}

interface Way {
  readonly name: string
  readonly files: ReadonlySet<string>
  /** Files that another request of the same interface passes through. */
  readonly ofInterface: ReadonlySet<string>
}

async function measureKeys(): Promise<readonly Way[]> {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const key = async (): Promise<string> =>
    (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  const encrypt = (kid: string) =>
    succeeds(alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' }))
  const kmip = (bytes: Uint8Array) =>
    succeeds(alice.call('POST', '/kmip', { bytes, headers: { 'content-type': 'application/octet-stream' } }))
  const create = await encodeMessage('Create', [objectType('SymmetricKey'), aesAttributes()])
  const discover = await encodeMessage('DiscoverVersions')
  const whoAmI = () => succeeds(alice.get('/me'))
  await encrypt(await key())
  await kmip(create)
  await whoAmI()
  const kid = await key()
  return [
    {
      name: 'POST /v1/crypto/encrypt',
      ofInterface: await listFiles(whoAmI),
      files: await listFiles(() => encrypt(kid)),
    },
    {
      name: 'KMIP Create',
      ofInterface: await listFiles(() => kmip(discover)),
      files: await listFiles(() => kmip(create)),
    },
  ]
}

async function measureLogin(): Promise<Way> {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, realm, user, as, logIn } = scene(auth)
  const username_password_params = { allow_expired_passwords: false }
  await realm('r', { auth_params: { username_password_params, totp_params: {} } })
  for (const name of ['ann', 'bob']) await user('r', name)
  const cookie = await logIn('r', 'bob')
  const { json } = await asSuper('POST', '/realms/r/totp/generate?realm=r', { username: 'ann', issuer: 'x' })
  const code = (offset: number): string =>
    codeAt(
      fromBase32(json.secret_base32) ?? Buffer.alloc(0),
      Math.floor(auth.services.now() / 30) + offset,
      'SHA1',
    )
  const { secret_base32: secret } = json
  await succeeds(
    asSuper('POST', '/realms/r/totp/verify?realm=r', {
      username: 'ann',
      token: code(-1),
      secret,
      issuer: 'x',
    }),
  )
  const login = (offset: number) =>
    succeeds(
      auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', json: { totp_code: code(offset) } }),
    )
  const whoAmI = () => succeeds(as(cookie, 'GET', '/account'))
  await login(0)
  await whoAmI()
  return {
    name: 'POST /login with TOTP',
    ofInterface: await listFiles(whoAmI),
    files: await listFiles(() => login(1)),
  }
}

async function measureSaml(): Promise<Way> {
  await using saml = await startSaml()
  const post = async () => {
    const login = await saml.begin()
    const response = saml.idp.response({ requestId: login.requestId, now: saml.now(), nameId: 'ann' })
    return () => succeeds(saml.post(login, response))
  }
  await (await post())()
  const next = await post()
  const metadata = () => succeeds(saml.auth.call('GET', '/saml/r/metadata'))
  await metadata()
  return { name: 'SAML ACS', ofInterface: await listFiles(metadata), files: await listFiles(next) }
}

async function measureAcme(): Promise<Way> {
  await using acme = await startAcme()
  const client = await acme.account()
  const finalize = async () => {
    const order = await acme.readyOrder(client)
    const { csr } = await outsider('', ['DNS:localhost'])
    const body = { csr: Buffer.from(toDer(csr)).toString('base64url') }
    return () => succeeds(client.post(`${order}/finalize`, body))
  }
  await (await finalize())()
  const next = await finalize()
  const account = () => succeeds(client.post(String(client.kid), {}))
  await account()
  return { name: 'ACME finalize', ofInterface: await listFiles(account), files: await listFiles(next) }
}

async function measureRequests(): Promise<readonly Way[]> {
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const ways = [...(await measureKeys()), await measureLogin(), await measureSaml(), await measureAcme()]
  session.disconnect()
  return ways
}

for (const { name, files, ofInterface } of await measureRequests()) {
  const own = [...files].filter((file) => !ofInterface.has(file))
  const ofService = own.filter((file) => /^packages\/(?:kms|auth)\//.test(file)).length
  process.stdout.write(
    `${name}: ${own.length} files of its own, ${ofService} of them in the service and the others in libraries; ` +
      `${files.size} with those of every request of the interface\n`,
  )
  if (process.argv.includes('--list'))
    for (const file of files) process.stdout.write(`  ${ofInterface.has(file) ? ' ' : '*'} ${file}\n`)
}
