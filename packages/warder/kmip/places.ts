import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { homeOf, type Terminal, UsageError } from '../cli/command.ts'
import { refusalOf } from '../cli/refused.ts'
import { readSecretFile } from '../cli/secret-file.ts'
import type { Words } from '../cli/words.ts'
import { requireAuthority } from '../kms/places.ts'
import type { Endpoint, Way } from './connection.ts'

/** Lines of the help that explain `readPlace`. */
export const placeHelp = `Where and who:
  --home DIR            home of the started services on this machine: its KMIP socket, HOME/tls/ca.crt to trust, and
                        HOME/tls/client.crt with its key as client certificate
  --socket HOST:PORT    another server's KMIP socket (binary, TLS with a client certificate)
  --url URL             KMIP over HTTPS instead: https://kms.example.com:9998
  --over ENCODING       with --url: ttlv, json or xml (default json)
  --cert F --key F      client certificate and private key (PEM); its common name is the user
  --token-file F        with --url: a bearer token instead; - is standard input
  --ca-file F           certificate authority to trust (default: HOME/tls/ca.crt; the system's for other servers)`

/** Where a message goes, over what. */
export interface Place {
  readonly endpoint: Endpoint
  readonly way: Way
}

const encodings = ['ttlv', 'json', 'xml'] as const

/**
 * The server and the identity that the words name.
 * @throws UsageError, StartupError when something is not there
 */
export function readPlace(words: Words, env: Terminal['env']): () => Place {
  const home = resolve(homeOf(words.option('home'), env))
  const socket = words.option('socket')
  const url = words.option('url')
  const over = words.option('over') ?? 'json'
  const [cert, key] = [words.option('cert'), words.option('key')]
  const tokenFile = words.option('token-file')
  const caFile = words.option('ca-file')
  const encoding = encodings.find((name) => name === over)
  if (encoding === undefined) throw new UsageError(`--over is ttlv, json or xml, not '${over}'`)
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('--cert and --key belong together')
  if (socket !== undefined && url !== undefined) throw new UsageError('give --socket or --url, not both')
  if (tokenFile !== undefined && url === undefined) throw new UsageError('--token-file needs --url')
  if (url !== undefined && !/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError('--url is like https://kms.example.com:9998')
  const place = socket === undefined ? undefined : placeOf(socket)
  return () => {
    if (caFile !== undefined) requireAuthority(caFile)
    const inHome = (name: string): string | undefined => existing(join(home, 'tls', name))
    const token = tokenFile === undefined ? undefined : readSecretFile(tokenFile, 'the token').trim()
    const isElsewhere = place !== undefined || url !== undefined
    return {
      way: url === undefined ? 'socket' : `https-${encoding}`,
      endpoint: {
        socket: url === undefined ? (place ?? localSocket(home)) : undefined,
        url,
        ca: pem(caFile ?? (isElsewhere ? undefined : inHome('ca.crt'))),
        cert: pem(cert ?? (token === undefined ? inHome('client.crt') : undefined)),
        key: pem(key ?? (token === undefined ? inHome('client.key') : undefined)),
        token,
      },
    }
  }
}

function placeOf(text: string): { readonly host: string; readonly port: number } {
  const found = /^(?:\[([0-9a-fA-F:]+)\]|([^:]+)):(\d{1,5})$/.exec(text)
  if (found === null) throw new UsageError('--socket is like kms.example.com:5696')
  const port = Number(found[3])
  if (port < 1 || port > 65_535) throw new UsageError(`--socket: a port is 1 to 65535, not ${port}`)
  return { host: found[1] ?? found[2] ?? '', port }
}

function localSocket(home: string): { readonly host: string; readonly port: number } {
  const path = join(home, 'endpoints.json')
  if (!existsSync(path))
    throw new StartupError(`${path} is not there: are the services started? (npm start, with the same home)`)
  const { kmip } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly kmip?: { host: string; port: number }
  }
  if (kmip === undefined)
    throw new StartupError(
      'the KMIP socket is not open: it needs TLS and clients_ca_cert_file; --url goes over HTTPS',
    )
  return kmip
}

function existing(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}

function pem(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  if (!existsSync(file)) throw new StartupError(`${file} is not there`)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw refusalOf(error, file)
  }
}
