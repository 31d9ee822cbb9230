import type { Reply } from '@warder/client/browser'
import { Status } from '../../../parts/status.tsx'
import { texts } from '../../../texts.ts'

const words = texts.devices

export type Device = Reply<'kmip.devices.list'>[number]

/** The name is a parameter, because it may contain slashes and dots. */
export const devicePath = (name: string): string => `/ui/device?${new URLSearchParams({ name })}`

const soonMs = 30 * 86_400_000

function findState({ blocked, ends_at: end }: Device) {
  if (blocked) return 'blocked'
  if (end === undefined) return 'none'
  const left = Date.parse(end) - Date.now()
  if (left <= 0) return 'expired'
  return left < soonMs ? 'soon' : 'valid'
}

const kinds = {
  blocked: 'danger',
  none: 'neutral',
  expired: 'danger',
  soon: 'warning',
  valid: 'good',
} as const

export const describeState = (device: Device): string => words.states[findState(device)]

/** Whether the device can log in, as far as the service knows. */
export function DeviceState({ device }: { readonly device: Device }) {
  return <Status kind={kinds[findState(device)]}>{describeState(device)}</Status>
}
