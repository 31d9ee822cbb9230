import { failure } from '@warder/foundation/errors'
import type { FeedbackType, TranslationKeys, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { commonPasswords } from './common-passwords.ts'
import { normalPassword } from './password-rules.ts'

/** Of 0 to 4; from here on more than a million guesses are expected, which the throttle allows nobody. */
const minScore = 2
/** Characters that are looked at. What is longer is as strong as its beginning, at least; the time grows with them. */
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
    l33t: 'digits in place of letters (@ for a) help little',
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

/** Loaded when somebody first chooses a password. */
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
 * Whether a password that somebody chose takes too few guesses, beside its length and the list of common ones: repeats,
 * sequences, dates, what is much like a common password, the names of the user and the realm. It takes milliseconds, so
 * only who has proved the old password is told.
 * @throws failure('bad_request') with what would make it better
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
