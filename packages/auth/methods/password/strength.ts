import { failure } from '@warder/base'
import type { FeedbackType, TranslationKeys, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { commonPasswords } from './common-passwords.ts'
import { normalPassword } from './password-rules.ts'

/**
 * Minimum score on a scale from 0 to 4. From this score on an attack takes more than a million guesses, which the
 * throttle prevents.
 */
const minScore = 2
/**
 * Number of characters that are evaluated. A longer password is at least as strong as its beginning; the time grows
 * with the length.
 */
const maxCharacters = 64

const translations: Pick<TranslationKeys, 'warnings' | 'suggestions'> = {
  warnings: {
    straightRow: 'rows of keys are easy to guess',
    keyPattern: 'short patterns of keys are easy to guess',
    simpleRepeat: 'repeated characters are easy to guess',
    extendedRepeat: 'repeated patterns are easy to guess',
    sequences: 'sequences like abc or 4321 are easy to guess',
    recentYears: 'recent years are easy to guess',
    dates: 'dates are easy to guess',
    topTen: 'it is one of the ten most common passwords',
    topHundred: 'it is one of the hundred most common passwords',
    common: 'it is a common password',
    similarToCommon: 'it is much like a common password',
    wordByItself: 'a word by itself is easy to guess',
    namesByThemselves: 'names by themselves are easy to guess',
    commonNames: 'common names are easy to guess',
    userInputs: 'it is made of the username or the realm',
    pwned: 'it is known from a breach',
  },
  suggestions: {
    l33t: 'digits instead of letters (@ for a) help little',
    reverseWords: 'words that are reversed help little',
    allUppercase: 'write some letters large, not all of them',
    capitalization: 'a large first letter helps little',
    dates: 'leave out dates that have to do with you',
    recentYears: 'leave out recent years',
    associatedYears: 'leave out years that have to do with you',
    sequences: 'leave out sequences',
    repeated: 'leave out repetitions',
    longerKeyboardPattern: 'use longer patterns of keys with more turns',
    anotherWord: 'add another word or two; rare ones are better',
    useWords: 'use several words, but not a common phrase',
    noNeed: 'it can be strong without signs, digits or large letters',
    pwned: 'change it wherever else you use it',
  },
}

let estimator: Promise<ZxcvbnFactory> | undefined

/** Loaded at the first choice of a password. */
async function loadEstimator(): Promise<ZxcvbnFactory> {
  const core = await import('@zxcvbn-ts/core')
  const { timeEstimation } = new core.Options().translations
  return new core.ZxcvbnFactory({
    dictionary: { passwords: [...commonPasswords] },
    translations: { ...translations, timeEstimation },
    maxLength: maxCharacters,
  })
}

/**
 * Refuses a password that takes too few guesses, besides its length and the list of common ones: repeats, sequences,
 * dates, similarity to common passwords, the names of the user and the realm. It takes milliseconds, so it runs only
 * after the old password was proved.
 * @throws failure('bad_request') with advice for a better password
 */
export async function checkStrength(
  password: string,
  user: { readonly username: string; readonly realm: string },
): Promise<void> {
  estimator ??= loadEstimator()
  const { score, feedback } = (await estimator).check(normalPassword(password), [user.username, user.realm])
  if (score >= minScore) return
  throw failure('bad_request', `new_password: is easy to guess${formatAdvice(feedback)}.`)
}

function formatAdvice({ warning, suggestions }: FeedbackType): string {
  const why = warning === null || warning === '' ? '' : `: ${warning}`
  const better = [...new Set(suggestions)].filter((one) => one !== '')
  return better.length === 0 ? why : `${why}. To make it better: ${better.join('; ')}`
}
