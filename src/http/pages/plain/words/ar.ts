import type { PlainCatalogue } from './en.ts'

export const ar: PlainCatalogue = {
  plain_title: 'عنوان مؤقت',
  plain_lead: 'احصل على عنوان، واستخدمه أينما شئت، واقرأ بريده هنا. من دون JavaScript.',
  plain_get: 'الحصول على عنوان',
  plain_lifetime: 'تنتهي صلاحيته بعد {life}، ثم يُحذف بريده.',
  plain_cookie:
    'يحفظ ملف تعريف ارتباط العنوان في هذا المتصفح حتى تنتهي صلاحيته. لا تراه المواقع الأخرى.',
  plain_open: 'فتح العنوان الموجود في هذا المتصفح',
  plain_slow: 'يستغرق هذا وقتًا أطول من المعتاد. يعمل أيضًا من دون JavaScript:',
  plain_any_domain: 'أي نطاق',
  plain_expires: 'تنتهي صلاحيته {rest}: {time}.',
  plain_already: 'لديك هذا العنوان بالفعل. احذفه للحصول على غيره.',
  plain_empty: 'لا رسائل بعد. يظهر البريد الجديد هنا.',
  plain_paused: 'التحقق التلقائي متوقف.',
  plain_pause: 'إيقاف التحقق',
  plain_resume: 'التحقق تلقائيًا',
  plain_deleted: 'حُذف العنوان وبريده.',
  plain_back: 'العودة إلى الوارد',
  plain_received: 'تاريخ الاستلام',
  plain_links: 'الروابط',
  plain_more_links: 'روابط أخرى',
  plain_unsubscribe: 'إلغاء الاشتراك',
  plain_link: 'رابط',
  plain_html: 'أُرسلت هذه الرسالة بصيغة HTML. هذا نصها.',
  plain_attachment_warning: 'لا تفتح إلا الملفات التي تتوقعها. قد تكون ملفات الغرباء ضارة.',
  plain_cookie_title: 'لم يحفظ متصفحك ملف تعريف الارتباط',
  plain_cookie_text:
    'من دونه لا تعرف هذه الصفحة أي عنوان لك. اسمح بملفات تعريف الارتباط لهذا الموقع، ثم حاول مرة أخرى.',
  plain_expired_text: 'حُذف بريده. يمكنك الحصول على عنوان جديد في أي وقت.',
  plain_none_title: 'لا يوجد عنوان في هذا المتصفح',
  plain_none_text: 'احصل على عنوان، أو أعد تحميل هذه الصفحة إذا جئت من موقع آخر.',
  plain_missing_title: 'لم يُعثر على الرسالة',
  plain_missing_text: 'ربما حُذفت.',
  plain_rejected_title: 'رُفض الطلب',
  plain_rejected_text: 'لم يأتِ الطلب من صفحة في هذا الموقع. استخدم الأزرار هنا.',
  plain_invalid_name: 'هذا الاسم غير مسموح به. انظر القواعد أدناه.',
  plain_domain_gone: 'لم يعد هذا النطاق متاحًا. اختر غيره.',
  plain_invalid_title: 'طلب غير صالح',
  plain_invalid_text: 'هناك خطأ في الطلب. ابدأ من جديد من الوارد.',
  plain_busy_text: 'حاول مرة أخرى بعد قليل.',
  plain_error_title: 'حدث خطأ من جانبنا',
  plain_error_text: 'سُجّل الخطأ برقم {id}. حاول مرة أخرى بعد قليل.',
  plain_buy_script:
    'يتطلب الشراء JavaScript، لأن على متصفحك حفظ السر الذي يُستلم به المفتاح. من دونه استخدم الطرفية:',
  plain_order_script:
    'تتطلب هذه الصفحة JavaScript، لأن سر استلام طلبك لا يغادر متصفحك. من دونه استخدم الطرفية:',
  plain_order_again:
    'يمكنك تكرار ذلك خلال 24 ساعة من أول استلام. عندها يُنشأ مفتاح جديد ويُلغى القديم فورًا.',
  plain_key_script:
    'تتطلب هذه الصفحة JavaScript، لأن مفتاحك لا يغادر متصفحك. من دونه استخدم الطرفية:',
  plain_key_roll: 'لتدوير المفتاح (يظل القديم يعمل 24 ساعة):',
}
