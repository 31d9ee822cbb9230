import {
  choice,
  list,
  localRootKeySources,
  optionalText,
  type Setting,
  type SettingValues,
  text,
} from '@warder/runtime/settings'
import { awsSettings, azureSettings, checkOrigin, googleSettings } from './cloud-settings.ts'
import { maxTokens, parseTokenUri } from './pkcs11-settings.ts'

/** Sources that hold the root key itself, and those that wrap it. */
export const rootKeySources = [
  ...localRootKeySources,
  'transit',
  'kmip',
  'pkcs11',
  'aws-kms',
  'google-kms',
  'azure-key-vault',
] as const
export type RootKeySourceName = (typeof rootKeySources)[number]

const transitSettings = {
  'root_key_transit.url': optionalText({
    docs: 'Address (https) of Vault, OpenBao or another Warder whose transit key wraps the root key, for `root_key_source` transit. It may be private.',
    check: checkOrigin('https://vault.example:8200'),
  }),
  'root_key_transit.mount': path({ default: 'transit', docs: 'Path of the transit engine.' }),
  'root_key_transit.key': optionalText({
    docs: 'Name of an AES-GCM or ChaCha20-Poly1305 key of the transit engine; at another Warder NAME or NAME@OWNER.',
    check: (name) => (/^[A-Za-z0-9_.@-]{1,200}$/.test(name) ? undefined : 'must be the name of a key'),
  }),
  'root_key_transit.namespace': optionalText({
    docs: 'Namespace, sent as X-Vault-Namespace.',
    check: (name) => (/^[\x21-\x7e]{1,200}$/.test(name) ? undefined : 'must be a path like team/kms'),
  }),
  'root_key_transit.token_file': optionalText({
    docs: 'File with a token that may encrypt and decrypt with the key, mode 0600; read at each use, and renewed if it is renewable.',
  }),
  'root_key_transit.approle_mount': path({ default: 'approle', docs: 'Path of the AppRole login.' }),
  'root_key_transit.role_id': optionalText({
    docs: 'RoleID with which Warder logs in, in place of a token; requires root_key_transit.secret_id_file.',
    check: (id) => (/^[\x21-\x7e]{1,200}$/.test(id) ? undefined : 'must be a RoleID'),
  }),
  'root_key_transit.secret_id_file': optionalText({ docs: 'File with the SecretID, mode 0600.' }),
  'root_key_transit.ca_file': optionalText({
    docs: 'Authorities (PEM) trusted for this server, in addition to the default ones. Unset = outbound_ca_file.',
  }),
}

const kmipSettings = {
  'root_key_kmip.server': optionalText({
    docs: 'HOST:PORT of a KMIP server (1.4 or later, over TLS) whose AES key wraps the root key, for `root_key_source` kmip.',
    check: (address) =>
      /^(?:\[[0-9a-fA-F:]{2,45}\]|[A-Za-z0-9.-]{1,253}):[1-9][0-9]{0,4}$/.test(address)
        ? undefined
        : 'must be HOST:PORT like kmip.example:5696',
  }),
  'root_key_kmip.key_id': optionalText({
    docs: 'Unique Identifier of the AES key, which must permit Encrypt and Decrypt with AES-GCM.',
    check: (id) => (/^[\x21-\x7e]{1,255}$/.test(id) ? undefined : 'must be a Unique Identifier'),
  }),
  'root_key_kmip.cert_file': optionalText({ docs: 'Client certificate (PEM) for the KMIP server.' }),
  'root_key_kmip.key_file': optionalText({
    docs: 'Private key (PEM) of root_key_kmip.cert_file, mode 0600.',
  }),
  'root_key_kmip.p12_file': optionalText({
    docs: 'PKCS#12 file with the client certificate and its key, in place of root_key_kmip.cert_file and root_key_kmip.key_file; mode 0600.',
  }),
  'root_key_kmip.p12_password_file': optionalText({
    docs: 'File with the password of root_key_kmip.p12_file, mode 0600. Unset = an empty password.',
  }),
  'root_key_kmip.ca_file': optionalText({
    docs: 'Authorities (PEM) of the KMIP server. Unset = the default ones.',
  }),
}

const pkcs11Settings = {
  'root_key_pkcs11.library': optionalText({
    docs: 'PKCS#11 library of a token (HSM) whose AES key wraps the root key, for `root_key_source` pkcs11. Linux and macOS.',
  }),
  'root_key_pkcs11.token_label': optionalText({
    docs: 'Label of the token; requires that no other token of the library has it.',
    check: (label) => (Buffer.byteLength(label) <= 32 ? undefined : 'must have at most 32 bytes'),
  }),
  'root_key_pkcs11.slot': optionalText({
    docs: 'Number of the slot, in place of the label.',
    check: (slot) => (/^\d{1,10}$/.test(slot) ? undefined : 'must be a number'),
  }),
  'root_key_pkcs11.tokens': list({
    default: [],
    docs: 'Up to 8 tokens, each of which wraps the root key and can unwrap it, in place of token_label or slot. Each entry is a PKCS#11 URI (RFC 7512) like `pkcs11:token=hsm-b?pin-source=file:/etc/warder/pin-b`, with the attribute `token` or `slot-id`. The optional attributes `object`, `module-path` and `pin-source` replace `key_label`, `library` and `pin_file` for this token.',
    check(uris) {
      if (uris.length > maxTokens) return `must be at most ${maxTokens} tokens`
      if (new Set(uris).size < uris.length) return 'must not contain a token twice'
      return uris.map(parseTokenUri).find((token) => typeof token === 'string') as string | undefined
    },
  }),
  'root_key_pkcs11.pin_file': optionalText({
    docs: 'File with the PIN of the user, mode 0600; read at each use. A wrong PIN is tried once.',
  }),
  'root_key_pkcs11.key_label': text({
    default: 'warder root key',
    docs: 'Label of the AES-256 key in the token, which is created there when it is missing.',
    check: (label) => (/^[\x20-\x7e]{1,100}$/.test(label) ? undefined : 'must be a label of printable ASCII'),
  }),
}

/** Of both services. `root_key_source` replaces the row of the runtime, which knows no provider. */
export const rootKeySettings = {
  root_key_source: choice({
    default: 'file',
    choices: rootKeySources,
    docs: 'Source of the root key: a file (created at the first run), WARDER_ROOT_KEY, WARDER_ROOT_KEY_PASSPHRASE, or a credential of the systemd unit. shares: several people hold shares of it, and enter them at each start. With each of the following sources the database contains the root key, wrapped. transit: by a key of Vault, OpenBao or another Warder; kmip: by a key of a KMIP server; pkcs11: by a key of a PKCS#11 token (HSM); aws-kms: by a key of AWS KMS; google-kms: by a key of Google Cloud KMS; azure-key-vault: by a key of Azure Key Vault or Managed HSM.',
  }),
  ...transitSettings,
  ...kmipSettings,
  ...pkcs11Settings,
  ...awsSettings,
  ...googleSettings,
  ...azureSettings,
}

export type RootKeyConfig = SettingValues<typeof rootKeySettings>

function path(row: { readonly default: string; readonly docs: string }): Setting<string> {
  return text({
    ...row,
    check: (mount) =>
      /^[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+){0,9}$/.test(mount)
        ? undefined
        : 'must be a path like team/transit',
  })
}
