import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadConfig } from '@warder/runtime/settings'
import { getForeignSettings, getSettings } from '../installation/services.ts'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'

// The kms.toml of the deployed peer starts this server.

const home = temporaryHome()
after(() => rmSync(home, { recursive: true, force: true }))

const peerFile = `default_username = "root"
vendor_identification = "cosmian"
kms_public_url = "https://kms.example"
ms_dke_service_url = ""
hsm_model = "proteccio"
hsm_slot = []

[db]
database_type = "sqlite"
database_url = ""
sqlite_path = "./sqlite-data"
clear_database = false
unwrapped_cache_max_age = 15
unwrapped_cache_max_size = 1000

[tls]
tls_p12_file = ""
clients_ca_cert_file = "tls/ca.crt"

[socket_server]
socket_server_start = false
socket_server_port = 5696

[http]
port = 0
hostname = "127.0.0.1"
http_workers = 1
rate_limit_per_second = 500

[idp_auth]
jwt_auth_provider = ["https://idp.example,https://idp.example/keys,kms"]

[auth_verifier]
auth_verifier_realm = "_"

[google_cse_config]
google_cse_enable = false
google_cse_migration_key = "a key of theirs"

[audit]
enabled = true
failure_mode = "reject"

[audit.file]
max_size_bytes = 1000000

[proxy]
proxy_url = "http://proxy.example:3128"
proxy_exclusion_list = ["10.0.0.0/8", ".intern.example"]

[jwks_endpoint]
jwks_endpoint_enabled = true
jwks_endpoint_max_keys = 20

[logging]
rust_log = "cosmian_kms=debug,warn"
`

const load = (text: string, env: Readonly<Record<string, string>> = {}) => {
  const file = join(home, 'loaded.toml')
  writeFileSync(file, text)
  const table = getSettings('kms')
  return loadConfig({ service: 'kms', table, file, env, args: [], foreign: getForeignSettings('kms') })
}

const ours = {
  default_username: 'root',
  kms_public_url: 'https://kms.example',
  database_url: undefined,
  unwrapped_cache_max_size: 1000,
  clients_ca_cert_file: 'tls/ca.crt',
  socket_server_start: false,
  port: 0,
  host: '127.0.0.1',
  workers: 1,
  rate_limit_per_second: 500,
  jwt_auth_provider: ['https://idp.example,https://idp.example/keys,kms'],
  auth_verifier_realm: '_',
  audit_enabled: true,
  audit_failure_mode: 'reject',
  audit_rotate_bytes: 1_000_000,
  outbound_proxy: 'http://proxy.example:3128',
  outbound_no_proxy: ['10.0.0.0/8', '.intern.example'],
  jwks_endpoint_max_keys: 20,
  log_level: 'warn',
}

test('every row stands for a setting that there is', () => {
  const table = getSettings('kms')
  for (const [key, row] of Object.entries(getForeignSettings('kms'))) {
    assert.ok(!('to' in row) || row.to in table, key)
  }
})

test('the file of the peer starts both services, with one line of notice for each name', async () => {
  writeFileSync(join(home, 'kms.toml'), peerFile, { mode: 0o600 })
  chmodSync(home, 0o700)
  const warder = await startInstallation({ home })
  const kms = warder.client('kms')
  const authorization = `Bearer ${await warder.adminToken()}`
  assert.equal((await kms.ask('/me', { headers: { authorization } })).status, 200)
  kms.close()
  const told = warder
    .output()
    .split('\n')
    .filter((line) => /http\.hostname/.test(line))
  assert.equal(told.length, 1)
  assert.match(told[0] ?? '', /warning: .*kms\.toml:\d+: http\.hostname is read as host"\}$/)
  assert.ok(!warder.output().includes('a key of theirs'))
  assert.equal(await warder.stop(), 0)
})

test('its settings have the values that they have there', () => {
  const { values, warnings } = load(peerFile)
  for (const [key, value] of Object.entries(ours)) assert.deepEqual(values[key], value, key)
  assert.ok(
    warnings.some((line) =>
      line.endsWith('vendor_identification is ignored: clients choose the vendor of their own attributes'),
    ),
  )
  assert.ok(
    !warnings.some((line) => /google_cse_enable|hsm_|tls_p12/.test(line)),
    'nothing is said of what is off',
  )
})

test('its environment variables are understood, too', () => {
  const { values, warnings } = load('', {
    KMS_PUBLIC_URL: 'https://kms.example',
    KMS_HOSTNAME: '::1',
    KMS_HTTP_WORKERS: '3',
    KMS_AUTH_VERIFIER_JWKS_URI: 'https://auth.example/keys',
    KMS_VAULT_AUTH_VERIFIER_CA_CERT: 'ca.pem',
    KMS_VAULT_API_ENABLED: 'true',
    KMS_GOOGLE_CSE_ENABLE: 'false',
  })
  assert.equal(values.kms_public_url, 'https://kms.example')
  assert.equal(values.host, '::1')
  assert.equal(values.workers, 3)
  assert.equal(values.auth_verifier_jwks, 'https://auth.example/keys')
  assert.equal(values.auth_verifier_ca_cert, 'ca.pem')
  assert.equal(values.vault_api_enabled, true)
  assert.equal(warnings.length, 5, warnings.join('\n'))
  assert.equal(load('', { KMS_TLS_P12_FILE: 'x.p12' }).values.tls_p12_file, 'x.p12')
})

test('what has no counterpart is refused by its name, with what to do instead', () => {
  for (const [text, told] of [
    ['[tls]\ntls_chain_file = "x.pem"', /:2: tls\.tls_chain_file is refused: tls_cert_file contains/],
    ['hsm_password = "very secret"', /:1: hsm_password must be an array of strings$/],
    [
      '[[hsm_instances]]\nhsm_model = "none"\nhsm_password = ["very secret"]',
      /hsm_model must be proteccio, /,
    ],
    [
      '[google_cse_config]\ngoogle_cse_disable_tokens_validation = true',
      /google_cse_disable_tokens_validation is refused: tokens are always verified/,
    ],
    ['ms_dke_service_url = "https://dke.example"', /is refused: .*warder external microsoft enable/],
    ['[proxy]\nproxy_basic_auth_password = "very secret"', /outbound_proxy_credentials_file$/],
    ['[db]\ndatabase_type = "mysql"', /db\.database_type is refused: Warder stores in SQLite or PostgreSQL/],
    ['[db]\nclear_database = true', /db\.clear_database is refused/],
    ['[auth_verifier]\nauth_verifier_accept_invalid_certs = true', /certificates are always verified/],
    ['[db]\ndatabase_url = "secret://mount/path"', /secret:\/\/ is not supported/],
    ['[http]\nport = 99999', /:2: http\.port must be an integer from 0 to 65535 \(got 99999\)$/],
    ['port = 1\n[http]\nport = 2', /:3: http\.port sets port, which is already set$/],
    ['[http]\nnonsense = 2', /unknown setting 'http\.nonsense'/],
  ] as const) {
    assert.throws(
      () => load(text),
      (error: Error) => {
        assert.equal(error.name, 'StartupError')
        assert.match(error.message, told)
        assert.doesNotMatch(error.message, /very secret/)
        return true
      },
    )
  }
})

test('warder config migrate writes the file under our names, for its owner only', async () => {
  const [file, output] = [join(home, 'peer.toml'), join(home, 'ours.toml')]
  writeFileSync(file, `${peerFile}\n[ui_config.ui_oidc_auth]\nui_oidc_client_secret = "oidc secret"\n`)
  const unchosen = await runWarder(['config', 'migrate', file])
  assert.equal(unchosen.code, 1)
  assert.match(
    unchosen.err,
    /contains secrets \(outbound_proxy, ui_config\.ui_oidc_auth\.ui_oidc_client_secret\): use --output/,
  )
  assert.ok(!`${unchosen.out}${unchosen.err}`.includes('oidc secret'))
  const { code, out, err } = await runWarder(['config', 'migrate', file, '--output', output])
  assert.equal(code, 0, err)
  assert.ok(!`${out}${err}`.includes('oidc secret'))
  assert.equal(statSync(output).mode & 0o777, 0o600)
  const written = readFileSync(output, 'utf8')
  const { values, warnings } = load(written)
  for (const [key, value] of Object.entries(ours)) assert.deepEqual(values[key], value, key)
  assert.equal(values['ui_config.ui_oidc_auth.ui_oidc_client_secret'], 'oidc secret')
  assert.deepEqual(warnings, [])
  const again = await runWarder(['config', 'migrate', file, '--output', output])
  assert.equal(again.code, 1)
  assert.match(again.err, /already exists; --force replaces it/)
  assert.equal((await runWarder(['config', 'migrate', file, '--output', output, '--force'])).code, 0)
  const printed = await runWarder(['config', 'migrate', file, '--output', '-'])
  assert.equal(`${printed.out.trimEnd()}\n`, `${written.trimEnd()}\n`)
  assert.ok(!existsSync(`${output}.new`))
})

test('warder config migrate names all that has no counterpart, and writes nothing', async () => {
  const [file, output] = [join(home, 'refused.toml'), join(home, 'nothing.toml')]
  writeFileSync(
    file,
    '[db]\nclear_database = true\n[tls]\ntls_chain_file = "x.pem"\n[proxy]\nproxy_basic_auth_password = "proxy secret"\n',
  )
  const { code, err } = await runWarder(['config', 'migrate', file, '--output', output])
  assert.equal(code, 1)
  for (const name of ['db.clear_database', 'tls.tls_chain_file', 'proxy.proxy_basic_auth_password'])
    assert.ok(err.includes(`${name} is refused`))
  assert.match(err, /was not migrated: 3 of its settings have no counterpart/)
  assert.ok(!err.includes('proxy secret') && !existsSync(output))
})
