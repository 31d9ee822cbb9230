import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import inspector from 'node:inspector'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { rootCertificates } from 'node:tls'
import { config } from '../config/command.ts'
import { kms } from '../service/command.ts'
import { temporaryHome } from '../testing/installation.ts'

const home = temporaryHome()
after(() => rmSync(home, { recursive: true, force: true }))

const terminal = (env: Readonly<Record<string, string>>) => ({
  out: () => undefined,
  err: () => undefined,
  env,
})
const check = (env: Readonly<Record<string, string>>) =>
  kms.run(['--check-config', '--home', home], terminal(env))

test('settings with which the service would not start are not called right', async () => {
  const empty = join(home, 'empty.pem')
  writeFileSync(empty, '')
  const authority = join(home, 'authority.pem')
  writeFileSync(authority, rootCertificates[0] ?? '')
  for (const [env, told] of [
    [{ KMS_TLS_CIPHER_SUITES: 'NONSENSE' }, /tls_cipher_suites: 'NONSENSE' is unknown/],
    [{ KMS_DATABASE_URL: 'mysql://h/d' }, /database_url must begin with sqlite: or postgresql:/],
    [
      { KMS_DATABASE_URL: 'postgresql://h/d?sslmode=prefer' },
      /sslmode=prefer permits an attacker .* force plain text/,
    ],
    [{ KMS_DATABASE_URL: 'postgresql://h/d?sslrootcert=none.crt' }, /sslrootcert: cannot read .*none\.crt/],
    [
      { KMS_DATABASE_URL: 'postgresql://h/d', KMS_DATABASE_PASSWORD_FILE: authority },
      /database_password_file: .*authority\.pem (can be read by others|must contain exactly one line)/,
    ],
    [
      { KMS_DATABASE_URL: 'postgresql://u:p@h/d', KMS_DATABASE_PASSWORD_FILE: 'file' },
      /database_password_file is set and database_url contains a password/,
    ],
    [{ KMS_DATABASE_WRITE_CONNECTIONS: '0' }, /KMS_DATABASE_WRITE_CONNECTIONS/],
    [{ KMS_TLS_CERT_FILE: '/none/a.crt', KMS_TLS_KEY_FILE: '/none/a.key' }, /\/none\/a\.crt/],
    [{ KMS_OUTBOUND_CA_FILE: 'none.pem' }, /outbound_ca_file: cannot read .*none\.pem/],
    [
      { KMS_CLIENTS_CA_CERT_FILE: empty },
      /clients_ca_cert_file: .*empty\.pem contains no certificate in PEM/,
    ],
    [
      { KMS_CLIENTS_CA_CERT_FILE: authority, KMS_CLIENTS_CRL_FILES: 'none.crl' },
      /clients_crl_files: cannot read .*none\.crl/,
    ],
    [
      {
        KMS_AZURE_EKM_ENABLE: 'true',
        KMS_AZURE_EKM_CLIENT_NAMES: 'pool',
        KMS_AZURE_EKM_CA_CERT_FILE: 'none.pem',
      },
      /azure_ekm_ca_cert_file: cannot read .*none\.pem/,
    ],
    [
      {
        KMS_AWS_XKS_ENABLE: 'true',
        KMS_AWS_XKS_CLIENT_NAMES: 'cks.kms.eu-west-1.amazonaws.com',
        KMS_AWS_XKS_CLIENT_CA_CERT_FILE: empty,
      },
      /aws_xks_client_ca_cert_file: .*empty\.pem contains no certificate in PEM/,
    ],
    [{ KMS_OTLP_ENDPOINT: 'http://h' }, /KMS_OTLP_ENDPOINT must be an address like https:/],
    [{ KMS_OUTBOUND_PROXY: 'socks5://h:1' }, /KMS_OUTBOUND_PROXY must be an address like http:\/\/proxy/],
    [{ KMS_OUTBOUND_NO_PROXY: 'a.example,<local>' }, /KMS_OUTBOUND_NO_PROXY must contain hosts .*"<local>"/],
    [{ KMS_OUTBOUND_PROXY_RESOLVES: 'maybe' }, /KMS_OUTBOUND_PROXY_RESOLVES must be true or false/],
    [{ KMS_OUTBOUND_PROXY_CREDENTIALS_FILE: 'x' }, /requires the address of a proxy in outbound_proxy/],
    [{ HTTPS_PROXY: 'socks5://u:hunter2@h:1' }, /HTTPS_PROXY must be an address like .*"direct" ignores it/],
    [{ UI_OIDC_CLIENT_ID: 'x' }, /requires both ui_oidc_issuer_url/],
    [{ KMS_KMIP_ALLOWLISTS_CURVES: 'P-256' }, /allowlists\.curves has no effect while/],
    [{ KMS_FIPS: 'true', KMS_FIPS_PROVIDER_REQUIRED: 'true' }, /FIPS provider is not active/],
    [{ KMS_CORS_ALLOWED_ORIGINS: 'foo' }, /must contain origins like https:\/\/app\.example \(got "foo"\)$/],
    [{ KMS_AUDIT_TRUSTED_PROXY_CIDRS: 'foo' }, /must contain CIDR blocks like 10\.0\.0\.0\/8 \(got "foo"\)$/],
  ] as const) {
    await assert.rejects(check(env), { name: 'StartupError', message: told })
  }
  assert.equal(await check({}), 0, 'a home in which nothing was started yet is right')
  assert.equal(await config.run(['check', '--home', home], terminal({})), 0)
})

test('a home that is not there has no configuration that could be right', async () => {
  await assert.rejects(config.run(['check', '--home', join(home, 'none')], terminal({})), {
    name: 'StartupError',
    message: /none does not exist: check --home$/,
  })
})

test('a debugger that can be attached is told', async (t) => {
  inspector.open(0, '127.0.0.1')
  t.after(() => inspector.close())
  const lines: string[] = []
  await kms.run(['--check-config', '--home', home], { ...terminal({}), err: (line) => lines.push(line) })
  assert.match(lines.join('\n'), /warning: a debugger can be attached/)
})
