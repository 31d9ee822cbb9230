import type { Reply } from '@warder/client/browser'
import { Status } from '../../../parts/status.tsx'
import { texts } from '../../../texts.ts'

const words = texts.certificates

export type State = Reply<'pki.certificates.get'>['state']

export const certificatePath = (id: string): string => `/ui/certificates/${encodeURIComponent(id)}`

const kinds = { valid: 'good', hold: 'warning', revoked: 'danger', expired: 'neutral' } as const

export function CertificateState(props: { readonly state: State; readonly reason: string | undefined }) {
  const { state, reason } = props
  return (
    <Status kind={kinds[state]}>
      {words.states[state]}
      {reason !== undefined && `: ${reason}`}
    </Status>
  )
}
