import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/base'
import { UsageError, type ValuesOf } from '@warder/command-line'
import { readEndpoints, requireAuthority, toServer } from '@warder/command-line/endpoints'
import { readSecretFile, toFileRefused } from '@warder/command-line/files'
import { type PemPair, readPkcs12Pair } from '@warder/pki'
import type { Endpoint, Transport } from './connection.ts'

/** Options with the server and the credential; default: the KMIP socket of the home. */
export const targetOptions = {
  socket: {
    type: 'text',
    value: 'HOST:PORT',
    help: "another server's KMIP socket (binary, TLS with a client certificate)",
  },
  url: { type: 'text', value: 'URL', help: 'address for KMIP over HTTPS: https://kms.example.com:9998' },
  over: { type: 'text', value: 'ENCODING', help: 'with --url: ttlv, json or xml (default json)' },
  cert: {
    type: 'text',
    value: 'F',
    help: 'client certificate (PEM); its common name is the user (default: HOME/tls/client.crt)',
  },
  key: {
    type: 'text',
    value: 'F',
    help: 'private key of the client certificate (default: HOME/tls/client.key)',
  },
  p12: {
    type: 'text',
    value: 'F',
    help: 'PKCS#12 file with the client certificate and its key, in place of --cert and --key',
  },
  'p12-password-file': {
    type: 'text',
    value: 'F',
    help: 'file with the password of --p12 (default: an empty password); - is standard input',
  },
  'token-file': {
    type: 'text',
    value: 'F',
    help: 'with --url: file with a bearer token; - is standard input',
  },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: "authority to trust (default: from HOME/endpoints.json; the system's for other servers)",
  },
} as const

/** Destination of a message, and its transport. */
export interface KmipTarget {
  readonly endpoint: Endpoint
  readonly transport: Transport
}

const encodings = ['ttlv', 'json', 'xml'] as const

/**
 * Reads the server and the credential from the options.
 * @throws UsageError, StartupError when a file does not exist
 */
export function readTarget(values: ValuesOf<typeof targetOptions>): (home: string) => KmipTarget {
  const { socket, url, over = 'json', cert, key, p12, 'token-file': tokenFile, 'ca-file': caFile } = values
  const { 'p12-password-file': p12PasswordFile } = values
  const encoding = encodings.find((name) => name === over)
  if (encoding === undefined) throw new UsageError(`--over must be ttlv, json or xml, not '${over}'`)
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--cert and --key must be given together')
  if (p12 !== undefined && cert !== undefined)
    throw new UsageError('give --p12 or --cert and --key, not both')
  if (p12PasswordFile !== undefined && p12 === undefined)
    throw new UsageError('--p12-password-file needs --p12')
  if (socket !== undefined && url !== undefined) throw new UsageError('give --socket or --url, not both')
  if (tokenFile !== undefined && url === undefined) throw new UsageError('--token-file needs --url')
  if (url !== undefined && !/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError('--url must have the form https://kms.example.com:9998')
  const socketAddress = socket === undefined ? undefined : readSocketAddress(socket)
  return (home) => {
    if (caFile !== undefined) requireAuthority(caFile)
    const findHomeFile = (name: string): string | undefined => findFile(join(home, 'tls', name))
    const bundle = p12 === undefined ? undefined : readPkcs12File(p12, p12PasswordFile)
    const token = tokenFile === undefined ? undefined : readSecretFile(tokenFile, 'the token').trim()
    const there =
      socketAddress === undefined && url === undefined
        ? findLocalSocket(home, caFile)
        : { socket: socketAddress, ca: readPem(caFile), serverName: undefined }
    return {
      transport: url === undefined ? 'socket' : `https-${encoding}`,
      endpoint: {
        ...there,
        url,
        cert: bundle?.cert ?? readPem(cert ?? (token === undefined ? findHomeFile('client.crt') : undefined)),
        key: bundle?.key ?? readPem(key ?? (token === undefined ? findHomeFile('client.key') : undefined)),
        token,
      },
    }
  }
}

function readSocketAddress(text: string): { readonly host: string; readonly port: number } {
  const found = /^(?:\[([0-9a-fA-F:]+)\]|([^:]+)):(\d{1,5})$/.exec(text)
  if (found === null) throw new UsageError('--socket must have the form kms.example.com:5696')
  const port = Number(found[3])
  if (port < 1 || port > 65_535) throw new UsageError(`--socket: a port must be 1 to 65535, not ${port}`)
  return { host: found[1] ?? found[2] ?? '', port }
}

/** Finds the KMIP socket of the running kms of a home, which has the certificate of the kms. */
function findLocalSocket(
  home: string,
  caFile: string | undefined,
): Pick<Endpoint, 'socket' | 'ca' | 'serverName'> {
  const { kms, kmip } = readEndpoints(home)
  if (kmip === undefined)
    throw new StartupError(
      'the KMIP socket is not open: it requires TLS and clients_ca_cert_file; --url uses HTTPS instead',
    )
  const { caFile: trusted, serverName } = toServer(home, kms, caFile)
  return { socket: kmip, ca: readPem(trusted), serverName }
}

function findFile(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}

/** @throws FileRefused */
function readPkcs12File(file: string, passwordFile: string | undefined): PemPair {
  const password = passwordFile === undefined ? '' : readSecretFile(passwordFile)
  try {
    return readPkcs12Pair(readFileSync(file), password)
  } catch (error) {
    throw toFileRefused(error, file)
  }
}

function readPem(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  if (!existsSync(file)) throw new StartupError(`${file} does not exist`)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw toFileRefused(error, file)
  }
}
