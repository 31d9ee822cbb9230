import { BlockList, isIP } from 'node:net'
import { directly, readNoProxy, readProxyAddress } from '@warder/outbound/proxy-settings'
import {
  boolean,
  choice,
  integer,
  list,
  optionalInteger,
  optionalText,
  type Setting,
  text,
} from './setting.ts'

/** Sources that need no other system. */
export const localRootKeySources = ['file', 'environment', 'passphrase', 'systemd', 'shares'] as const

/** The defaults of a service that the common settings need. */
export interface ServiceDefaults {
  /** Of the database file, of the certificates of the local authority, and in front of environment variables. */
  readonly name: string
  readonly port: number
  readonly bodyLimitBytes: number
}

/** Settings that every service has. Paths that are not absolute start at the home folder. */
export function foundationSettings({ name, port, bodyLimitBytes }: ServiceDefaults) {
  return {
    ...listenSettings(name, port),
    ...tlsSettings,
    ...databaseSettings(name),
    ...rootKeySettings,
    ...fipsSettings,
    ...limitSettings(bodyLimitBytes),
    ...requestSettings,
    ...supervisionSettings,
    ...auditSettings,
    ...telemetrySettings,
    ...outboundSettings,
    ...clusterSettings,
  }
}

function listenSettings(name: string, port: number) {
  return {
    host: text({
      default: '127.0.0.1',
      docs: 'Address to listen on; 0.0.0.0 or :: = all addresses of the machine.',
    }),
    port: integer({
      default: port,
      min: 0,
      max: 65_535,
      env: `${name.toUpperCase()}_PORT`,
      docs: 'TCP port; 0 = any free one.',
    }),
    workers: integer({
      default: 0,
      min: 0,
      max: 256,
      docs: 'Number of worker threads; 0 = one for each core (a machine with one or two cores starts with one, and adds a second under load).',
    }),
    plaintext_http: boolean({
      default: false,
      docs: 'Serve HTTP without TLS: only behind a proxy that terminates TLS, or for measurements.',
    }),
  }
}

const tlsSettings = {
  tls_cert_file: optionalText({
    docs: 'Certificate chain of the server (PEM). Default: issued by the local authority at the first run.',
  }),
  tls_key_file: optionalText({ docs: 'Private key of tls_cert_file (PEM).' }),
  tls_p12_file: optionalText({
    docs: 'PKCS#12 file with the certificate of the server, its chain and its key, in place of tls_cert_file and tls_key_file. It must be readable only by its owner (0600; owned by root: 0640).',
  }),
  tls_p12_password_file: optionalText({
    docs: 'File with the password of tls_p12_file, mode 0600; read whenever that file is read.',
  }),
  tls_p12_password: secretText(
    'Password of tls_p12_file. Set it in the environment rather than in a settings file.',
  ),
  tls_cipher_suites: optionalText({
    docs: 'Cipher suites by OpenSSL or IANA name, separated by colons; only TLS 1.3 names = TLS 1.3 only. Default: Mozilla intermediate, version 5.',
  }),
  clients_ca_cert_file: optionalText({
    docs: 'Authorities (PEM) whose client certificates are accepted; the Common Name becomes the identity.',
  }),
  clients_crl_files: list({
    default: [],
    docs: 'CRLs (PEM or DER) of the authorities in `clients_ca_cert_file`, which must have signed them. A changed file takes effect within a second, also on open connections.',
  }),
  clients_crl_failure_mode: choice({
    default: 'continue',
    choices: ['continue', 'reject'],
    docs: 'If a client authority has no CRL or an expired one: continue (with a warning in the log), or reject its certificates.',
  }),
}

function databaseSettings(name: string) {
  return {
    database_url: secretText(
      `sqlite:PATH or postgresql://USER@HOST,HOST/DATABASE?sslmode=verify-full. Default: sqlite:${name}.db in the home folder.`,
    ),
    database_password_file: optionalText({
      docs: 'PostgreSQL: file with the password, readable only by its owner (0600; owned by root: 0640). It is read for each connection.',
    }),
    database_read_connections: integer({
      default: 2,
      min: 1,
      max: 64,
      docs: 'PostgreSQL: number of connections of each thread for single statements, which are pipelined.',
    }),
    database_write_connections: integer({
      default: 6,
      min: 1,
      max: 256,
      docs: 'PostgreSQL: maximum number of connections of each thread for commits.',
    }),
    database_connect_timeout_ms: optionalInteger({
      min: 100,
      max: 60_000,
      docs: 'PostgreSQL: timeout of a connection attempt to a host. Unset = `connect_timeout` of the address, otherwise 10 s for one host and 3 s each for several.',
    }),
    database_statement_timeout_ms: integer({
      default: 15_000,
      min: 100,
      max: 600_000,
      docs: 'PostgreSQL: timeout of a statement.',
    }),
    database_migration_timeout_ms: integer({
      default: 600_000,
      min: 0,
      max: 86_400_000,
      docs: 'PostgreSQL: timeout of a statement that changes tables at an upgrade; 0 = no limit.',
    }),
    database_wait_ms: optionalInteger({
      min: 0,
      max: 86_400_000,
      docs: 'PostgreSQL: how long a start waits for an unreachable database, which /health reports meanwhile. Unset = no limit.',
    }),
  }
}

const rootKeySettings = {
  root_key_source: choice({
    default: 'file',
    choices: localRootKeySources,
    docs: 'Source of the root key: a file (created at the first run), WARDER_ROOT_KEY, WARDER_ROOT_KEY_PASSPHRASE, a credential of the systemd unit, or shares of several people, who enter them at each start.',
  }),
  root_key_file: text({
    default: 'root.key',
    docs: 'Root key file, mode 0600. Store a copy: without it, no sealed data can be decrypted.',
  }),
  root_key_credential: text({
    default: 'root.key',
    docs: 'Name of the credential in `LoadCredentialEncrypted`, for `root_key_source` systemd: the same line as in a root key file.',
    check: (name) => {
      return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/.test(name)
        ? undefined
        : 'must be the name of a credential'
    },
  }),
  'root_key_shares.time_limit_seconds': integer({
    default: 3600,
    min: 5,
    max: 86_400,
    docs: 'For `root_key_source` shares: seconds from the first share, within which the others must be entered. After that all entered shares are discarded, and the service stays sealed.',
  }),
}

const fipsSettings = {
  fips: boolean({
    default: false,
    docs: 'Permit only algorithms that FIPS 140-3 approves: no keys of OKP, EdDSA or ML-DSA-44; new passwords are hashed by PBKDF2 in place of argon2id.',
  }),
  fips_provider_path: optionalText({
    docs: "With `fips`: OpenSSL's FIPS provider (fips.so), with which Node is started. The start is refused if it does not load or fails its self-tests.",
  }),
  fips_provider_config: optionalText({
    docs: 'Configuration that `openssl fipsinstall` wrote for this provider. Unset = fipsmodule.cnf beside it.',
  }),
  fips_provider_required: boolean({
    default: false,
    docs: "With `fips`, without `fips_provider_path`: do not start unless OpenSSL's FIPS provider is active (Node was started with it, and with --enable-fips).",
  }),
}

function limitSettings(bodyLimitBytes: number) {
  return {
    rate_limit_per_second: optionalInteger({
      min: 1,
      max: 1_000_000,
      docs: 'Maximum requests per second for each TCP peer address (IPv6: each /64), with bursts of three times that. Unset = no limit.',
    }),
    body_limit_bytes: integer({
      default: bodyLimitBytes,
      min: 1024,
      max: 67_108_864,
      docs: 'Maximum size of a request body.',
    }),
    headers_timeout_ms: integer({
      default: 10_000,
      min: 100,
      max: 600_000,
      docs: 'Timeout for the headers of a request.',
    }),
    request_timeout_ms: integer({
      default: 30_000,
      min: 100,
      max: 600_000,
      docs: 'Timeout for a complete request.',
    }),
    keep_alive_timeout_ms: integer({
      default: 120_000,
      min: 100,
      max: 3_600_000,
      docs: 'Timeout of an idle connection.',
    }),
  }
}

const requestSettings = {
  list_verb_enabled: boolean({
    default: true,
    docs: 'Support the method LIST of Vault clients, which the HTTP parser of Node does not know. false: LIST is refused with 400, and clients must use GET with ?list=true.',
  }),
  cors_allowed_origins: list({
    default: [],
    docs: 'Origins (scheme://host[:port]) whose pages may call this service.',
    check: (origins) => {
      return origins.every(isOrigin) ? undefined : 'must contain origins like https://app.example'
    },
  }),
}

const supervisionSettings = {
  drain_timeout_ms: integer({
    default: 20_000,
    min: 0,
    max: 600_000,
    docs: 'Time to finish requests in flight at a stop.',
  }),
  watchdog_seconds: integer({
    default: 5,
    min: 0,
    max: 3600,
    docs: 'A worker whose event loop does not respond for this time is logged with its operation and replaced; `warder start` restarts a service whose process does not respond for three times as long. 0 = never.',
  }),
}

const auditSettings = {
  audit_enabled: boolean({ default: true, docs: 'Keep the chained audit log.' }),
  audit_failure_mode: choice({
    default: 'continue',
    choices: ['continue', 'reject'],
    docs: 'If an audit record cannot be written: continue (and record how many were lost), or reject the request with 503.',
  }),
  audit_trusted_proxy_cidrs: list({
    default: [],
    docs: 'Proxies (CIDR blocks) whose X-Forwarded-For is trusted for the client address.',
    check: (blocks) => {
      return blocks.every(isCidr) ? undefined : 'must contain CIDR blocks like 10.0.0.0/8'
    },
  }),
  audit_rotate_bytes: integer({
    default: 67_108_864,
    min: 65_536,
    docs: 'Size at which the audit log continues in a new file.',
  }),
  audit_rotate_days: integer({
    default: 31,
    min: 1,
    max: 3660,
    docs: 'Age of the first record at which the audit log continues in a new file, so that old records can be archived and removed.',
  }),
  audit_encryption: boolean({
    default: false,
    docs: 'Encrypt the files of the audit log (AES-256-GCM) with a key that is sealed under the root key. Existing files are encrypted when they are archived.',
  }),
  audit_timestamp_url: optionalText({
    docs: 'Address (http or https) of a time-stamping authority (RFC 3161) that stamps each closed file of the audit log; requires audit_timestamp_ca_file.',
    check: isWebUrl,
  }),
  audit_timestamp_ca_file: optionalText({
    docs: 'Trust anchors (PEM) of the time-stamping authority.',
  }),
  audit_syslog: optionalText({
    docs: 'HOST:PORT of a syslog server to which audit records are sent (RFC 5424 over TLS; the standard port is 6514).',
    check: (place) => (isHostAndPort(place) ? undefined : 'must be HOST:PORT like logs.example:6514'),
  }),
  audit_collector_url: optionalText({
    docs: 'Address (https) to which audit records are sent by POST, as lines of JSON.',
    check: isHttpsUrl,
  }),
  audit_collector_token_file: optionalText({
    docs: 'File whose content is sent to the collector as a bearer token.',
  }),
}

const telemetrySettings = {
  log_level: choice({
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    docs: 'Minimum level of the messages in the log.',
  }),
  metrics_port: optionalInteger({
    min: 0,
    max: 65_535,
    docs: 'Port for GET /metrics (Prometheus, HTTPS, same host); 0 = any free one. Unset = no metrics.',
  }),
  otlp_endpoint: optionalText({
    docs: 'Base URL (https) of an OTLP/HTTP collector to which metrics are sent every minute.',
    // Outbound requests go over https alone: every report would fail, minute after minute.
    check: isHttpsUrl,
  }),
  otlp_trace_percent: integer({
    default: 0,
    min: 0,
    max: 100,
    docs: 'Percentage of requests without a W3C traceparent that are sent to otlp_endpoint as traces; a traceparent decides by its sampled flag. 0 = no traces at all.',
  }),
}

const outboundSettings = {
  outbound_allow_private_networks: boolean({
    default: false,
    docs: 'Permit key sets and metadata to be fetched from private, loopback and link-local addresses.',
  }),
  outbound_ca_file: optionalText({
    docs: 'Authorities (PEM) trusted for outbound requests, and for a proxy with an https address, in addition to the default ones.',
  }),
  outbound_proxy: {
    ...secretText(
      'Proxy for outbound requests and connections: http://HOST:PORT, or https://HOST:PORT for TLS to the proxy; its address may be private. Unset = HTTPS_PROXY, HTTP_PROXY (for http addresses) and NO_PROXY of the environment. `direct` = no proxy, whatever these variables contain.',
    ),
    check: (text: string) => {
      const address = text === directly ? undefined : readProxyAddress(text)
      return typeof address === 'string' ? address : undefined
    },
  },
  outbound_proxy_credentials_file: optionalText({
    docs: 'File with USER:PASSWORD (Basic) for outbound_proxy, readable only by its owner (0600; owned by root: 0640). It is read for each connection.',
  }),
  outbound_proxy_resolves: boolean({
    default: false,
    docs: 'true: the proxy receives host names, resolves them, and is trusted to keep requests away from private networks. false: names are resolved and checked here, and the proxy receives the addresses.',
  }),
  outbound_no_proxy: list({
    default: [],
    docs: 'Hosts that are reached without the proxy: `example.com` (and its subdomains), `.example.com` (only its subdomains) or an address, each with or without `:PORT`; a CIDR block; or `*` (all hosts). Blocks and addresses match only targets that are addresses. This machine (localhost, 127.0.0.0/8, ::1) is always reached directly.',
    check: (entries) => {
      const [invalid] = readNoProxy(entries).invalid
      return invalid === undefined
        ? undefined
        : `must contain hosts like example.com, 10.1.2.3:8443 or 10.0.0.0/8, not ${JSON.stringify(invalid)}`
    },
  }),
}

const clusterSettings = {
  cache_lease_ms: integer({
    default: 1000,
    min: 0,
    max: 60_000,
    docs: 'PostgreSQL: maximum age of a cached row before it is checked again (0 = always checked). It bounds how long a revoked key still works on another node.',
  }),
  node_name: optionalText({
    docs: 'Name of this node in the audit log; default: the host name. Nodes of one database need different names.',
    check: isNodeName,
  }),
  node_url: optionalText({
    docs: 'Address (https) of this node, at which the other nodes of its database reach it, also in private networks, to search its audit log. Its certificate must be one that they trust (outbound_ca_file). Unset = they cannot.',
    check: isNodeUrl,
  }),
}

function secretText(docs: string): Setting<string | undefined> {
  return { type: 'secret', default: undefined, docs }
}

function isHttpsUrl(url: string): string | undefined {
  return URL.canParse(url) && new URL(url).protocol === 'https:'
    ? undefined
    : 'must be an address like https://collector.example:4318'
}

function isNodeName(name: string): string | undefined {
  return name.length > 256 || /\p{Cc}/u.test(name)
    ? 'must have at most 256 characters, and no control characters'
    : undefined
}

function isNodeUrl(url: string): string | undefined {
  return URL.canParse(url) && new URL(url).origin === url.replace(/\/$/, '') && url.startsWith('https:')
    ? undefined
    : 'must be an address like https://node1.example:9998'
}

function isWebUrl(url: string): string | undefined {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? undefined
    : 'must be an address like http://timestamp.example/rfc3161'
}

function isHostAndPort(text: string): boolean {
  if (!URL.canParse(`tls://${text}`)) return false
  const { hostname, port, pathname, username, search, hash } = new URL(`tls://${text}`)
  return hostname !== '' && Number(port) > 0 && `${pathname}${username}${search}${hash}` === ''
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text)
}

function isCidr(text: string): boolean {
  const [address = '', prefix = ''] = text.split('/')
  const family = isIP(address)
  if (family === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) return false
  new BlockList().addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6')
  return true
}
