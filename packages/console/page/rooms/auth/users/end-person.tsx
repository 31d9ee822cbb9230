import type { AuthReply } from '@warder/client/browser'
import { auth } from '../../../api.ts'
import { useInfo } from '../../../frame/session.ts'
import { CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.user

/** The block at the key management service, and the end of the person here. */
export function EndPerson(props: {
  readonly realm: string
  readonly name: string
  readonly use: AuthReply<'persons.get'>
}) {
  const { realm, name, use } = props
  const path = { realm_id: realm, username: name }
  const removeCredential = auth.useAct('credentials.delete')
  const release = auth.useAct('jwt_subjects.release')
  const end = auth.useAct('persons.end')
  const other = useInfo().data?.other
  const atKms = realm === '_' ? name : `${realm}/${name}`
  const run = async (): Promise<void> => {
    if (use.password) await removeCredential.mutateAsync({ path })
    if (use.provider) await release.mutateAsync({ path: { realm_id: realm, subject: name } })
    await end.mutateAsync({ path })
    showToast(words.deleted)
  }
  return (
    <section className="part" aria-labelledby="end-person">
      <h2 id="end-person">{words.endPerson}</h2>
      <p>{words.blockHelp}</p>
      <CommandCode command={toCommand('warder access block', [atKms])} />
      {other?.service === 'kms' && (
        <p>
          <a href={`${other.url.replace(/\/+$/, '')}/ui/access/blocked`}>{words.blockAtKms}</a>
        </p>
      )}
      <p>{words.deleteHelp}</p>
      <Confirm verb={words.delete} title={words.deleteTitle(name, realm)} onConfirm={run}>
        <ul>
          {use.password && <li>{words.endsPassword}</li>}
          {use.provider && <li>{words.endsProvider}</li>}
          <li>{words.endsFactors}</li>
          <li>{words.endsSessions}</li>
        </ul>
        <p>{words.keysStay}</p>
        <CommandCode command={toCommand('warder admin delete-user', [name], { realm })} />
      </Confirm>
    </section>
  )
}
