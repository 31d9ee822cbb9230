import { auth } from '../../../api.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { describeError } from '../../../parts/errors.tsx'
import { useShownOnce } from '../../../parts/secret.tsx'
import { Status } from '../../../parts/status.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'
import { type Enrollment, EnrollmentForm } from './enrollment.tsx'
import { useAccount, useAccountAct } from './recent-login.tsx'

const words = texts.totp

/** Whether the second factor of the user is enrolled here, and not at an identity provider. */
const hasFactorsHere = (scheme: string): boolean => ['up', 'f2', 'jwt'].includes(scheme)

/** The authenticator app of the user. @param props.onCodes shows recovery codes */
export function Totp({ onCodes }: { readonly onCodes: (codes: readonly string[]) => void }) {
  const { account } = useAccount()
  const [enrollment, setEnrollment] = useShownOnce<Enrollment>()
  const begin = useAccountAct(async () => setEnrollment(await auth.client.call('totp.enroll_options')))
  const confirm = useAccountAct(async (code: string) => {
    if (enrollment === undefined) return
    const body = { enrollment: enrollment.enrollment, code }
    const { recovery_codes: codes } = await auth.client.call('totp.enroll', { body })
    setEnrollment(undefined)
    onCodes(codes)
  })
  const leave = useAccountAct(async () => {
    await auth.client.call('totp.leave')
    showToast(words.isOff)
  })
  if (!hasFactorsHere(account.auth_scheme)) return <p>{words.elsewhere}</p>
  if (enrollment !== undefined)
    return (
      <EnrollmentForm
        enrollment={enrollment}
        isPending={confirm.isPending}
        error={confirm.problem}
        onCode={(code) => confirm.mutate(code)}
        onCancel={() => setEnrollment(undefined)}
      />
    )
  return (
    <>
      <p>
        <Status kind={account.totp ? 'good' : 'neutral'}>{account.totp ? words.on : words.off}</Status>
      </p>
      <p>{account.totp ? words.onHelp : words.offHelp}</p>
      {begin.problem != null && (
        <p className="notice danger" role="alert">
          {describeError(begin.problem)}
        </p>
      )}
      <div className="actions">
        <button type="button" className="button" disabled={begin.isPending} onClick={() => begin.mutate()}>
          {account.totp ? words.replace : words.begin}
        </button>
        {account.totp && (
          <Confirm verb={words.turnOff} title={words.turnOffTitle} onConfirm={() => leave.mutateAsync()}>
            <p>{words.turnOffHelp}</p>
          </Confirm>
        )}
      </div>
    </>
  )
}
