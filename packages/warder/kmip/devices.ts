import type { Input, KmsClient, Reply } from '@warder/client'
import { formatTable, readDuration, requireNoNames, UsageError } from '@warder/command-line'
import { type KmsVerb, kmsVerb } from '@warder/command-line/kms'

type Device = Reply<'kmip.devices.list'>[number]
type Query = NonNullable<Input<'kmip.devices.list'>['query']>

const dayMs = 86_400_000
const pageSize = 1000

/** `warder kmip devices` lists the KMIP clients that the service knows. */
export const devicesVerb = kmsVerb({
  name: 'devices',
  words: '[NAME]',
  summary: 'List KMIP clients: the end of their certificates, last connection, version, keys',
  about: `Users that connected with a client certificate, or have one of the local authority or of an authority of the
service. Crypto officers see all of them (the default user if there are none), other users themselves.
With NAME: its certificates.`,
  examples: [
    'warder kmip devices',
    'warder kmip devices --expiring 30d',
    'warder kmip devices storage-1',
    "warder kmip devices --json | jq -r '.[] | select(.blocked) | .name'",
  ],
  options: {
    expiring: {
      type: 'text',
      value: 'TIME',
      help: 'those whose last valid certificate expires within this time: 30d, 2w, 12h',
    },
    search: { type: 'text', value: 'TEXT', help: 'those with this text in their names' },
  },
  parse({ expiring, search }, [name, ...rest]) {
    requireNoNames(rest)
    const time = expiring === undefined ? undefined : readDuration('expiring', expiring)
    if (name !== undefined) {
      if (expiring !== undefined || search !== undefined)
        throw new UsageError('--expiring and --search filter the list: omit them with NAME')
      return showDevice(name)
    }
    return async ({ kms, show }) => {
      const filter: Query = {
        ...(search !== undefined && { search }),
        ...(time !== undefined && { expiring_days: String(Math.ceil(time / dayMs)) }),
      }
      const before = time === undefined ? Number.POSITIVE_INFINITY : Date.now() + time
      const devices = (await fetchDevices(kms, filter)).filter(
        ({ ends_at: end }) => time === undefined || Date.parse(end ?? '') < before,
      )
      const rows = devices.map((device) => [
        device.name,
        device.ends_at?.slice(0, 10) ?? '',
        formatState(device),
        formatMoment(device.last_seen),
        device.kmip_version ?? '',
        String(device.keys),
      ])
      const nothing = 'no devices match, or none has a certificate: see warder kmip certificate --help'
      const headings = ['USER', 'ENDS', 'STATE', 'LAST SEEN', 'VERSION', 'KEYS']
      show(devices, formatTable(headings, rows, nothing))
      return 0
    }
  },
})

async function fetchDevices(kms: KmsClient, filter: Query): Promise<readonly Device[]> {
  const devices: Device[] = []
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const query = { ...filter, limit: String(pageSize), ...(after !== undefined && { after }) }
    const page = await kms.page('kmip.devices.list', { query })
    devices.push(...page.rows)
    after = page.next
  }
  return devices
}

function showDevice(name: string): ReturnType<KmsVerb['parse']> {
  return async ({ kms, show }) => {
    const device = await kms.call('kmip.devices.get', { path: { name } })
    const rows = device.certificates.map(({ serial, issuer, not_after: end, state, reason }) => [
      end.slice(0, 10),
      reason === undefined ? state : `${state}, ${reason}`,
      serial,
      issuer ?? '',
    ])
    const { encoding, kmip_version: version } = device
    show(device, [
      `user:       ${device.name}`,
      `state:      ${formatState(device)}`,
      `last seen:  ${formatMoment(device.last_seen)}${version === undefined ? '' : `, KMIP ${version}, ${encoding}`}`,
      `keys:       ${device.keys}`,
      '',
      ...formatTable(['ENDS', 'STATE', 'SERIAL', 'ISSUER'], rows, 'no certificate is known'),
    ])
    return 0
  }
}

function formatState({ blocked, ends_at: end }: Device): string {
  if (blocked) return 'blocked'
  if (end === undefined) return 'no valid certificate'
  return Date.parse(end) <= Date.now() ? 'expired' : 'valid'
}

function formatMoment(time: string | undefined): string {
  return time === undefined ? 'never' : `${time.slice(0, 16).replace('T', ' ')} UTC`
}
