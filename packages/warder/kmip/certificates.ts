import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { formatJson, formatTable, homeVerb, readDuration, requireNoNames } from '@warder/command-line'

/** A client certificate of the local authority, as `--json` prints it. */
interface ListedCertificate {
  readonly name: string
  /** Hexadecimal. */
  readonly serial: string
  /** RFC 3339, UTC. */
  readonly ends_at: string
  readonly state: 'valid' | 'expired' | 'revoked'
  readonly revoked_at?: string
  readonly reason?: string
}

/** `warder kmip certificates` lists certificates in the files of a home; `warder kmip devices` asks the service. */
export const listCertificatesVerb = homeVerb({
  name: 'certificates',
  words: '[NAME]',
  summary: 'List the client certificates that the local authority issued: users and expiry dates',
  about: `Reads HOME/tls: certificates of warder kmip certificate, and the one of the first run. Certificates that another
authority issued to a device are not recorded there: warder kmip devices lists them once a device has presented them.`,
  examples: [
    'warder kmip certificates',
    'warder kmip certificates --expiring 30d',
    'warder kmip certificates --json | jq -r \'.[] | select(.state == "valid") | .name\'',
  ],
  options: {
    expiring: {
      type: 'text',
      value: 'TIME',
      help: 'lists the valid ones that expire within this time: 30d, 2w, 12h',
    },
    json: { type: 'flag', help: 'prints one JSON document instead of a table' },
  },
  parse({ expiring, json }, [name, ...rest]) {
    requireNoNames(rest)
    const now = Date.now()
    const before = expiring === undefined ? undefined : now + readDuration('expiring', expiring)
    return async ({ home, terminal }) => {
      const certificates = (await listCertificates(resolve(home), now)).filter(
        (each) =>
          (name === undefined || each.name === name) &&
          (before === undefined || (each.state === 'valid' && Date.parse(each.ends_at) < before)),
      )
      const rows = certificates.map((each) => [
        each.name,
        each.ends_at.slice(0, 10),
        each.state === 'revoked' ? `revoked, ${each.reason ?? 'unspecified'}` : each.state,
        each.serial,
      ])
      const nothing = 'no certificates match, or none were issued: see warder kmip certificate --help'
      if (json) terminal.out(formatJson(certificates))
      else
        for (const line of formatTable(['USER', 'ENDS', 'STATE', 'SERIAL'], rows, nothing)) terminal.out(line)
      return 0
    }
  },
})

/** @param now Unix milliseconds @returns certificates in the order in which they end */
async function listCertificates(home: string, now: number): Promise<readonly ListedCertificate[]> {
  const { findClientRevocations, listClientCertificates } = await import('@warder/server')
  const folder = join(home, 'tls')
  if (!existsSync(folder))
    throw new StartupError(`${folder} does not exist: name the home of the service with --home`)
  const found = listClientCertificates(folder)
  const revocations = findClientRevocations(folder, found)
  return [...new Map(found.map((each) => [each.serial, each])).values()]
    .sort((a, b) => a.validTo.getTime() - b.validTo.getTime())
    .map(({ name, serial, validTo }) => {
      const revocation = revocations.get(serial)
      const [ends, isOver] = [validTo.toISOString(), validTo.getTime() <= now]
      if (revocation === undefined)
        return { name, serial, ends_at: ends, state: isOver ? 'expired' : 'valid' } as const
      const { revokedAt, reason } = revocation
      return {
        ...{ name, serial, ends_at: ends, state: 'revoked' as const },
        revoked_at: new Date(revokedAt).toISOString(),
        ...(reason !== undefined && { reason }),
      }
    })
}
