import { BlockList, isIP } from 'node:net'
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
    host: text({ default: '127.0.0.1', docs: 'Address to listen on; 0.0.0.0 or :: for all of the machine.' }),
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
      docs: 'Threads that serve; 0 = one for each core, where a machine of one or two cores begins with one and adds the other when there is load.',
    }),
    plaintext_http: boolean({
      default: false,
      docs: 'Serve HTTP without TLS: only behind a proxy that ends TLS, or for a measurement.',
    }),
  }
}

const tlsSettings = {
  tls_cert_file: optionalText({
    docs: "The server's certificate chain (PEM); default: the local authority's of the first run.",
  }),
  tls_key_file: optionalText({ docs: 'Its private key (PEM).' }),
  tls_cipher_suites: optionalText({
    docs: 'Cipher suites by OpenSSL or IANA name, separated by colons; only TLS 1.3 names = TLS 1.3 only. Default: Mozilla intermediate, version 5.',
  }),
  clients_ca_cert_file: optionalText({
    docs: 'Authorities (PEM) whose client certificates are accepted; the Common Name becomes the identity.',
  }),
  clients_crl_files: list({
    default: [],
    docs: 'CRLs (PEM or DER) of the authorities in `clients_ca_cert_file`, which must have signed them. A change of a file counts within a second, also on connections that are open.',
  }),
  clients_crl_failure_mode: choice({
    default: 'continue',
    choices: ['continue', 'reject'],
    docs: 'When a client authority has no CRL, or it has expired: continue (and say so in the log), or reject its certificates.',
  }),
}

function databaseSettings(name: string) {
  return {
    database_url: secretText(
      `sqlite:PATH or postgresql://USER@HOST,HOST/DATABASE?sslmode=verify-full. Default: sqlite:${name}.db in the home folder.`,
    ),
    database_password_file: optionalText({
      docs: 'PostgreSQL: file with the password, for its owner alone (0600; of root: 0640). It is read at each connection.',
    }),
    database_read_connections: integer({
      default: 2,
      min: 1,
      max: 64,
      docs: 'PostgreSQL: connections of each thread for single statements, which are pipelined.',
    }),
    database_write_connections: integer({
      default: 6,
      min: 1,
      max: 256,
      docs: 'PostgreSQL: connections of each thread for commits, at most.',
    }),
    database_connect_timeout_ms: optionalInteger({
      min: 100,
      max: 60_000,
      docs: 'PostgreSQL: time for a host to answer. Unset = `connect_timeout` of the address, else 10 s, of several hosts 3 s each.',
    }),
    database_statement_timeout_ms: integer({
      default: 15_000,
      min: 100,
      max: 600_000,
      docs: 'PostgreSQL: time for a statement.',
    }),
    database_migration_timeout_ms: integer({
      default: 600_000,
      min: 0,
      max: 86_400_000,
      docs: 'PostgreSQL: time for a statement that changes tables at an upgrade; 0 = no limit.',
    }),
    database_wait_ms: optionalInteger({
      min: 0,
      max: 86_400_000,
      docs: 'PostgreSQL: how long a start waits for a database that cannot be reached, and says so at /health meanwhile. Unset = as long as it takes.',
    }),
  }
}

const rootKeySettings = {
  root_key_source: choice({
    default: 'file',
    choices: ['file', 'environment', 'passphrase'],
    docs: 'Where the root key comes from: a file (made on the first run), WARDER_ROOT_KEY, or WARDER_ROOT_KEY_PASSPHRASE.',
  }),
  root_key_file: text({
    default: 'root.key',
    docs: 'The root key file, mode 0600. Keep a copy: without it nothing opens.',
  }),
}

function limitSettings(bodyLimitBytes: number) {
  return {
    rate_limit_per_second: optionalInteger({
      min: 1,
      max: 1_000_000,
      docs: 'Requests a second for each TCP peer address (IPv6: each /64); bursts of three times as many. Unset = no limit.',
    }),
    body_limit_bytes: integer({
      default: bodyLimitBytes,
      min: 1024,
      max: 67_108_864,
      docs: 'Largest request body.',
    }),
    headers_timeout_ms: integer({
      default: 10_000,
      min: 100,
      max: 600_000,
      docs: 'Time for the headers of a request to arrive.',
    }),
    request_timeout_ms: integer({
      default: 30_000,
      min: 100,
      max: 600_000,
      docs: 'Time for a whole request to arrive.',
    }),
    keep_alive_timeout_ms: integer({
      default: 120_000,
      min: 100,
      max: 3_600_000,
      docs: 'Time an idle connection is kept.',
    }),
  }
}

const requestSettings = {
  list_verb_enabled: boolean({
    default: true,
    docs: 'Serve lists to the verb LIST of Vault’s clients, which the HTTP parser of Node does not know by itself. false: it is refused (400), and GET with ?list=true is left.',
  }),
  cors_allowed_origins: list({
    default: [],
    docs: 'Origins (scheme://host[:port]) whose pages may call this service.',
    check: (origins) => {
      return origins.every(isOrigin) ? undefined : 'must hold origins like https://app.example'
    },
  }),
}

const supervisionSettings = {
  drain_timeout_ms: integer({
    default: 20_000,
    min: 0,
    max: 600_000,
    docs: 'Time to finish what is in flight at a stop.',
  }),
  watchdog_seconds: integer({
    default: 5,
    min: 0,
    max: 3600,
    docs: 'A worker whose event loop does not answer for so long is named with its operation and replaced; `warder start` starts a service again whose process does not answer for three times as long. 0 = never.',
  }),
}

const auditSettings = {
  audit_enabled: boolean({ default: true, docs: 'Keep the chained audit log.' }),
  audit_failure_mode: choice({
    default: 'continue',
    choices: ['continue', 'reject'],
    docs: 'When a record cannot be written: continue (and record how many were lost), or reject the request with 503.',
  }),
  audit_trusted_proxy_cidrs: list({
    default: [],
    docs: 'Peers whose X-Forwarded-For tells the client address.',
    check: (blocks) => {
      return blocks.every(isCidr) ? undefined : 'must hold CIDR blocks like 10.0.0.0/8'
    },
  }),
  audit_rotate_bytes: integer({
    default: 67_108_864,
    min: 65_536,
    docs: 'Size at which the audit log goes on in a new file.',
  }),
  audit_rotate_days: integer({
    default: 31,
    min: 1,
    max: 3660,
    docs: 'Age of its first record at which the audit log goes on in a new file, so that old records can be archived and removed.',
  }),
  audit_encryption: boolean({
    default: false,
    docs: 'Encrypt the files of the audit log (AES-256-GCM) under a key that the root key opens. What was written before stays as it is, and is encrypted when it is archived.',
  }),
  audit_timestamp_url: optionalText({
    docs: 'Address (http or https) of a time-stamping authority (RFC 3161) that confirms when each full file of the audit log was closed; with audit_timestamp_ca_file.',
    check: isWebUrl,
  }),
  audit_timestamp_ca_file: optionalText({
    docs: 'PEM file of the certificates that the time-stamping authority is trusted by.',
  }),
  audit_syslog: optionalText({
    docs: 'HOST:PORT of a syslog server that audit records are sent to (RFC 5424 over TLS; the usual port is 6514).',
    check: (place) => (isHostAndPort(place) ? undefined : 'must be HOST:PORT like logs.example:6514'),
  }),
  audit_collector_url: optionalText({
    docs: 'Address (https) that audit records are posted to, as lines of JSON.',
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
    docs: 'What goes to the log.',
  }),
  metrics_port: optionalInteger({
    min: 0,
    max: 65_535,
    docs: 'Port for GET /metrics (Prometheus, HTTPS, same host); 0 = any free one. Unset = no metrics.',
  }),
  otlp_endpoint: optionalText({
    docs: 'Base URL (https) of an OTLP/HTTP collector that metrics are sent to each minute.',
    // Outbound requests go over https alone: every report would fail, minute after minute.
    check: isHttpsUrl,
  }),
  otlp_trace_percent: integer({
    default: 0,
    min: 0,
    max: 100,
    docs: 'Of the requests without a W3C traceparent, so many of a hundred are sent to otlp_endpoint as traces; a traceparent decides for itself. 0 = no traces at all.',
  }),
}

const outboundSettings = {
  outbound_allow_private_networks: boolean({
    default: false,
    docs: 'Let key sets and metadata be fetched from private, loopback and link-local addresses.',
  }),
  outbound_ca_file: optionalText({
    docs: 'Authorities (PEM) trusted for outbound requests besides the usual ones.',
  }),
}

const clusterSettings = {
  cache_lease_ms: integer({
    default: 1000,
    min: 0,
    max: 60_000,
    docs: 'PostgreSQL: how long a cached row may be used before it is checked again (0 = each time). It bounds how long a revoked key works on another node.',
  }),
  node_name: optionalText({ docs: 'Name of this node in the audit log; default: the host name.' }),
}

function secretText(docs: string): Setting<string | undefined> {
  return { type: 'secret', default: undefined, docs }
}

function isHttpsUrl(url: string): string | undefined {
  return URL.canParse(url) && new URL(url).protocol === 'https:'
    ? undefined
    : 'must be an address like https://collector.example:4318'
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
