import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { openSqlite, query } from '@warder/storage'
import { cleanEnvironment, runWarder, startInstallation } from '../testing/installation.ts'
import { command } from '../testing/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-fips-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** With fipsmodule.cnf beside it. */
const provider = [
  process.env.WARDER_FIPS_PROVIDER,
  '/usr/lib/x86_64-linux-gnu/ossl-modules/fips.so',
  '/usr/lib/aarch64-linux-gnu/ossl-modules/fips.so',
  '/usr/local/lib/ossl-modules/fips.so',
].find((path) => path !== undefined && existsSync(path) && existsSync(join(dirname(path), 'fipsmodule.cnf')))
const skip =
  provider === undefined
    ? "OpenSSL's FIPS provider is not here: set WARDER_FIPS_PROVIDER to a fips.so with fipsmodule.cnf beside it"
    : false

function forBoth(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings)
  return Object.fromEntries(
    ['AUTH', 'KMS'].flatMap((name) => entries.map(([key, value]) => [`${name}_${key}`, value])),
  )
}

async function refuse(settings: Readonly<Record<string, string>>, message: RegExp): Promise<void> {
  const home = mkdtempSync(join(folder, 'refused-'))
  for (const words of [['check'], ['start']]) {
    const { code, out, err } = await runWarder([...words, '--home', home], forBoth(settings))
    assert.notEqual(code, 0, out + err)
    assert.match(out + err, message)
    assert.doesNotMatch(out + err, /\n {4}at /)
  }
}

test('settings that contradict FIPS mode, and providers that are missing, are refused by name', async () => {
  const absent = join(folder, 'absent.so')
  await refuse({ FIPS_PROVIDER_PATH: absent }, /fips_provider_path has no effect without fips = true/)
  await refuse(
    { FIPS: 'true', FIPS_PROVIDER_PATH: absent },
    /fips_provider_path: \S+absent\.so does not exist/,
  )
  await refuse(
    { FIPS: 'true', FIPS_PROVIDER_REQUIRED: 'true' },
    /OpenSSL's FIPS provider is not active: name it in fips_provider_path/,
  )
  await refuse(
    { FIPS: 'true', ROOT_KEY_SOURCE: 'passphrase' },
    /root_key_source passphrase derives the root key with argon2id/,
  )
  await refuse(
    { FIPS: 'true', TLS_CIPHER_SUITES: 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256' },
    /fips: tls_cipher_suites names TLS_CHACHA20_POLY1305_SHA256, which is not approved/,
  )
  const library = join(folder, 'fips.so')
  writeFileSync(library, 'no library')
  await refuse(
    { FIPS: 'true', FIPS_PROVIDER_PATH: library },
    /fips_provider_config: \S+fipsmodule\.cnf does not exist/,
  )
  writeFileSync(join(folder, 'fipsmodule.cnf'), '[fips_sect]\nactivate = 1\n')
  await refuse({ FIPS: 'true', FIPS_PROVIDER_PATH: library }, /OpenSSL's FIPS provider cannot be used: /)
})

test('a provider that was changed after its installation is refused', { skip }, async () => {
  const own = mkdtempSync(join(folder, 'changed-'))
  const [library, module] = [join(own, 'fips.so'), join(own, 'fipsmodule.cnf')]
  copyFileSync(provider ?? '', library)
  const text = readFileSync(join(dirname(provider ?? ''), 'fipsmodule.cnf'), 'utf8')
  writeFileSync(
    module,
    text.replace(/(module-mac = )(\S\S)/, '$1$2:00').replace(/(?<=module-mac = (?:\S\S:){32}).*/, ''),
  )
  await refuse({ FIPS: 'true', FIPS_PROVIDER_PATH: library }, /OpenSSL's FIPS provider cannot be used: /)
})

interface Reply {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly json: any
}

test('both services run on the FIPS provider, say so, and refuse what is not approved', {
  skip,
}, async () => {
  const home = mkdtempSync(join(folder, 'home-'))
  const settings = forBoth({ FIPS: 'true', FIPS_PROVIDER_PATH: provider ?? '' })
  const warder = await startInstallation({ home, env: settings })
  const token = await warder.adminToken()
  const client = warder.client('kms')
  const ask = async (path: string, json?: object): Promise<Reply> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await client.ask(path, { ...(json && { json }), headers })) as Reply
  }
  const { json: info } = await ask('/server-info')
  assert.deepEqual([info.fips_mode, info.fips_provider], [true, true])
  const { name, version, status, self_tests } = info.fips_provider_details
  assert.match(name, /FIPS/)
  assert.match(version, /^3\.\d+\.\d+/)
  assert.deepEqual([status, self_tests], ['active', 'passed'])
  assert.match(warder.output(), /"version":"3\.[^\n]*OpenSSL's FIPS provider is active/)

  for (const key of [
    { kty: 'oct', alg: 'A256GCM' },
    { kty: 'oct', alg: 'HS256' },
    { kty: 'RSA', alg: 'PS256' },
    { kty: 'RSA', alg: 'RSA-OAEP-256' },
    { kty: 'EC', alg: 'ES256', crv: 'P-256' },
  ]) {
    const made = await ask('/v1/crypto/keys', key)
    assert.equal(made.status, 200, made.text)
  }
  for (const key of [
    { kty: 'OKP', alg: 'EdDSA' },
    { kty: 'AKP', alg: 'ML-DSA-44' },
  ]) {
    const made = await ask('/v1/crypto/keys', key)
    assert.equal(made.status, 422, made.text)
    assert.equal(made.json.error, 'unsupported_algorithm')
  }
  client.close()
  const connectWith = (ecdhCurve: string): Promise<string> =>
    new Promise((resolve) => {
      const { hostname: host, port } = new URL(warder.kmsUrl)
      const ca = readFileSync(warder.caFile)
      const socket = connect(
        { ...{ host, port: Number(port), ca, ecdhCurve }, minVersion: 'TLSv1.3' },
        () => {
          resolve(socket.getCipher().standardName)
          socket.destroy()
        },
      )
      socket.on('error', () => resolve('refused'))
    })
  assert.match(await connectWith('P-256'), /^TLS_AES_/)
  assert.equal(await connectWith('X25519'), 'refused')
  await warder.stop()

  const db = openSqlite({ path: join(home, 'auth.db') })
  const stored = await db.all(
    query<[], { password_hash: string }>('SELECT password_hash FROM credential'),
    [],
  )
  await db.close()
  for (const { password_hash } of stored) assert.match(password_hash, /^\$pbkdf2-sha512\$i=210000\$/)
})

test('what the provider does not have is answered by its name, not as an internal error', { skip }, () => {
  const configuration = join(folder, 'openssl.cnf')
  const lines = [
    'nodejs_conf = init',
    `.include ${join(dirname(provider ?? ''), 'fipsmodule.cnf')}`,
    ...['[init]', 'providers = all', '[all]', 'fips = fips_sect', 'base = base_sect'],
    ...['[fips_sect]', `module = ${provider}`, 'activate = 1', '[base_sect]', 'activate = 1', ''],
  ]
  writeFileSync(configuration, lines.join('\n'))
  const program = `
    import { createHash, generateKeyPairSync, scryptSync } from 'node:crypto'
    import { toFailure } from '@warder/base'
    const kind = (act) => { try { act() } catch (error) { return toFailure(error).kind } }
    console.log(
      kind(() => createHash('md5')), kind(() => scryptSync('a', 'b', 32)), kind(() => generateKeyPairSync('x25519')),
      kind(() => generateKeyPairSync('ec', { namedCurve: 'secp256k1' })), kind(() => { throw new Error('other') }))`
  const flags = [`--openssl-config=${configuration}`, '--enable-fips', '--input-type=module', '-e', program]
  const { stdout, stderr } = spawnSync(process.execPath, flags, {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  assert.equal(stdout, `${'unsupported_algorithm '.repeat(4)}internal_error\n`, stderr)
})

test('a service that is started alone replaces its process, and the hash of a password at its next login', {
  skip,
}, async (t) => {
  const home = mkdtempSync(join(folder, 'alone-'))
  await (await startInstallation({ home, env: {} })).stop()
  const hashes = async (): Promise<readonly string[]> => {
    const db = openSqlite({ path: join(home, 'auth.db') })
    const rows = await db.all(query<[], { hash: string }>('SELECT password_hash AS hash FROM credential'), [])
    await db.close()
    return rows.map(({ hash }) => hash)
  }
  assert.match((await hashes()).join(), /^\$argon2id/)
  const warder = await startInstallation({
    home,
    env: forBoth({ FIPS: 'true', FIPS_PROVIDER_PATH: provider ?? '' }),
  })
  await warder.adminToken()
  await warder.adminToken()
  await warder.stop()
  assert.match((await hashes()).join(), /^\$pbkdf2-sha512/)

  const [file, ...words] = command
  const child = spawn(file, [...words, 'kms', '--home', home], {
    env: cleanEnvironment(forBoth({ FIPS: 'true', FIPS_PROVIDER_PATH: provider ?? '' })),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  await new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => {
        out += part.toString()
        if (out.includes('"serving"')) resolve()
      })
    child.once('close', () => resolve())
  })
  assert.match(out, /"serving"/)
  assert.match(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'), /--enable-fips/)
})
